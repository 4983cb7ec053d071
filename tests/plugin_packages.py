"""Installed packages with plug-in boosters, made by hand (`import plugin_packages`)."""

from __future__ import annotations

from pathlib import Path

GROUP = "vjcascade.boosters"


def install(folder: Path, package: str, entry_points: dict[str, str], **modules: str) -> None:
    """Leave in a folder what pip would: the package's entry points and its modules' text."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in entry_points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
