"""Pages of the reference that are written from the package itself before Sphinx reads the others.

Every public name has one entry, in the shortest place that it can be imported from. `PACKAGES` says what is public;
`tests/test_docs.py` asks that each name of it has an entry with an example.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

PACKAGES = {
    "vjcascade": "What most programs need",
    "vjcascade.training": "Training, its settings and events",
    "vjcascade.boosters": "Boosters, costs and decision thresholds",
    "vjcascade.learning": "Boosting on an explicit pool",
    "vjcascade.detection": "Detectors, scanning and grouping",
    "vjcascade.evaluation": "Measuring and tuning on labelled scenes",
    "vjcascade.comparison": "Comparing boosters",
    "vjcascade.checking": "Checking training pictures",
    "vjcascade.synthesis": "Altered samples and synthetic scenes",
    "vjcascade.inspection": "Looking into models",
    "vjcascade.exports": "Models for other programs",
    "vjcascade.formats": "Reading and writing models",
    "vjcascade.features": "Haar and LBP features",
    "vjcascade.imaging": "Picture files and grey levels",
    "vjcascade.video": "Videos and cameras",
    "vjcascade.compat": "The drop-in for cv2",
    "vjcascade.compat.data": "Where OpenCV's model files are on this machine",
    "vjcascade.errors": "Errors",
}
"""Public packages, in the order of the reference, and what they are for."""

BOOSTERS = (
    "adaboost",
    "cost_generalized",
    "asymboost",
    "adacost",
    "csb",
    "adac",
    "cost_sensitive",
    "real",
    "gentle",
    "logit",
)
"""Modules of boosters, in the order of the table in explanation/boosters.md."""

EXAMPLE_IN = {
    "Alteration": "vjcascade.synthesis.Alterations",
    "Comparison": "vjcascade.comparison.compare_tables",
    "Curve": "vjcascade.detection_curve",
    "DataCheck": "vjcascade.checking.check",
    "Evaluation": "vjcascade.evaluate",
    "ExportFormat": "vjcascade.exports.format_of",
    "FullComparison": "vjcascade.comparison.compare_full",
    "Inspection": "vjcascade.inspection.inspect_model",
    "LevelIntegrals": "vjcascade.detection.Scanner",
    "Listener": "vjcascade.ProgressPrinter",
    "MarginScan": "vjcascade.scan_margins",
    "PictureScan": "vjcascade.inspection.scan_pictures",
    "SceneMaker": "vjcascade.synthesis.SampleMaker",
    "Tuning": "vjcascade.tune",
    "TwoErrorBounds": "vjcascade.boosters.LossBounds",
    "write_scenes": "vjcascade.synthesis.write_samples",
}
"""What others make or are like; the example stands there."""


def public_names(package: str) -> list[str]:
    """Return the public names of a package; those of its packages are not among them."""
    module = importlib.import_module(package)
    names = getattr(module, "__all__", None) or [
        name
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", None) == package and not name.startswith("_")
    ]
    return sorted((name for name in names if not inspect.ismodule(getattr(module, name))), key=str.casefold)


def entries() -> dict[str, tuple[str, ...]]:
    """Return {package: names documented there}: each thing once."""
    seen: set[int] = set()
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        new = [name for name in public_names(package) if id(getattr(module, name)) not in seen]
        seen.update(id(getattr(module, name)) for name in new if callable(getattr(module, name)))
        found[package] = tuple(new)
    return found


def _directive(thing: Any) -> str:
    if inspect.isclass(thing):
        return "autoclass"
    return "autofunction" if callable(thing) else "autodata"


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"


def package_page(package: str, names: tuple[str, ...]) -> str:
    """Return the page of a package, in reStructuredText."""
    module = importlib.import_module(package)
    parts = [_title(package), f"{PACKAGES[package]}.\n", f".. currentmodule:: {package}\n"]
    elsewhere = sorted(set(public_names(package)) - set(names), key=str.casefold)
    if elsewhere:
        links = ", ".join(f"`~{_home(getattr(module, name))}`" for name in elsewhere)
        parts.append(f"Also here, described in other places: {links}.\n")
    for name in names:
        thing = getattr(module, name)
        parts.append(f".. {_directive(thing)}:: {package}.{name}\n{_options(thing)}")
        if name in EXAMPLE_IN:
            parts.append(f"An example of ``{name}`` is at `~{EXAMPLE_IN[name]}`.\n")
    return "\n".join(parts)


def _home(thing: Any) -> str:
    """Return the dotted name under which a thing has its entry."""
    for package, names in entries().items():
        for name in names:
            if getattr(importlib.import_module(package), name) is thing:
                return f"{package}.{name}"
    raise LookupError(thing)


def _options(thing: Any) -> str:
    """Leave out fields of records, which the section Attributes has, and what scikit-learn makes."""
    if hasattr(thing, "set_fit_request"):
        return "   :exclude-members: set_fit_request, set_predict_request, set_score_request\n"
    names = getattr(thing, "__struct_fields__", None) or getattr(thing, "_fields", None)
    if dataclasses.is_dataclass(thing):
        names = [field.name for field in dataclasses.fields(thing)]
    if not (inspect.isclass(thing) and names):
        return ""
    return f"   :exclude-members: {', '.join(names)}\n"


def boosters_page() -> str:
    """Return the page of the boosters by name, with their formulas."""
    parts = [
        _title("The boosters one by one"),
        "Formulas, errata of the paper, and what happens at the limits. In short: :doc:`/explanation/boosters`.\n",
    ]
    for name in BOOSTERS:
        module: ModuleType = importlib.import_module(f"vjcascade.boosters.{name}")
        classes = [
            thing
            for thing in vars(module).values()
            if inspect.isclass(thing)
            and thing.__module__ == module.__name__
            and isinstance(vars(thing).get("name"), str)
        ]
        for kind in classes:
            text = f"{kind.__name__} (``{kind.name}``)"
            parts.append(f"{text}\n{'-' * len(text)}\n")
            parts.append(f".. autoclass:: {module.__name__}.{kind.__name__}\n   :no-members:\n")
    return "\n".join(parts)


def index_page() -> str:
    """Return the list of the packages."""
    rows = "\n".join(f"   * - :doc:`{package}`\n     - {text}" for package, text in PACKAGES.items())
    pages = "\n".join(f"   {name}" for name in (*PACKAGES, "boosters"))
    return (
        f"{_title('Python')}\n.. list-table::\n\n{rows}\n"
        "   * - :doc:`boosters`\n     - Each booster, with its formulas\n\n"
        f".. toctree::\n   :hidden:\n\n{pages}\n"
    )


def command_pages() -> dict[str, str]:
    """Return {name: page in Markdown} of all commands."""
    from vjcascade.cli.main import command_app

    app = command_app()
    names = [name for name in app if not name.startswith("-")]
    pages = {}
    for name in names:
        text = app[name].generate_docs(output_format="markdown", usage_name=f"vjcascade {name}")
        text = text.replace(f"vjcascade {name} {name} ", f"vjcascade {name} ")  # where the usage is our own
        pages[name] = examples_as_code(text)
    rows = "\n".join(f"| [{name}]({name}.md) | {app[name].help.splitlines()[0]} |" for name in names)
    toc = "\n".join(names)
    codes = (
        "0 done; 2 the input or the command line is wrong; 1 a fault of vjcascade; 130 stopped from the keyboard; "
        "143 ended by the system; 141 whoever read the output stopped reading"
    )
    pages["index"] = (
        f"# Command line\n\nWhat `vjcascade COMMAND --help` prints. Exit codes: {codes}.\n\n"
        f"| command | |\n|---|---|\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{toc}\n```\n"
    )
    return pages


def examples_as_code(page: str) -> str:
    r"""Return a page of a command with its examples in blocks, from which they can be copied.

    Examples
    --------
    >>> print(examples_as_code("For example: vjcascade check a b\nand then: vjcascade train a b\n"))
    For example:
    <BLANKLINE>
    ```console
    vjcascade check a b
    ```
    <BLANKLINE>
    and then:
    <BLANKLINE>
    ```console
    vjcascade train a b
    ```
    <BLANKLINE>
    <BLANKLINE>
    """
    return _EXAMPLE.sub("\\1:\\n\\n```console\\n\\2\\n```\\n", page)


_EXAMPLE = re.compile(r"^(For example|For example, for bash|or|and then): (.+)$", re.MULTILINE)


def settings_page() -> str:
    """Return the table of the settings of training, with the values of the presets."""
    from vjcascade.training import Preset, TrainingSettings, preset_settings

    presets = {str(preset.value): preset_settings(preset).as_dict() for preset in Preset}
    rows = [
        f"| `{name.replace('_', '-')}` | {' | '.join(_cell(values[name]) for values in presets.values())} |"
        for name in (field.name for field in dataclasses.fields(TrainingSettings))
    ]
    head = [f"| key | {' | '.join(presets)} |", f"|---{'|---' * len(presets)}|"]
    return (
        "# Settings of training\n\n"
        "The keys of a settings file (TOML, read by `--settings` and by {py:obj}`vjcascade.read_settings`), and what "
        "the presets say. `preset` is a key, too. Options of the command line override the file. With none, training "
        "chooses.\n\nIn Python, they are the fields of {py:obj}`vjcascade.TrainingSettings`, with underscores for "
        "hyphens. What they mean stands there.\n\n" + "\n".join([*head, *rows]) + "\n"
    )


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else "none" if value is None else str(value)


def readme_page(readme: str) -> str:
    r"""Return the README as a page of the site, where other files lie elsewhere.

    Examples
    --------
    >>> readme_page("# vjcascade\n[a](docs/b.md) [c](CONTRIBUTING.md)\n")
    '# Get started\n[a](b.md) [c](contributing.md)\n'
    """
    python = "[Python](reference/api/index.rst), [settings](reference/settings/index.md)"
    moved = {
        "# vjcascade\n": "# Get started\n",
        "](docs/": "](",
        "](CONTRIBUTING.md)": "](contributing.md)",
        "](samples/comparison/README.md)": "](explanation/comparison.md)",
        "](samples/": "](../samples/",
        "| Reference |": "| [Reference](reference/index.md) |",
        "; Python and settings on the built pages": f"; {python}",
    }
    for old, new in moved.items():
        readme = readme.replace(old, new)
    return readme


def _write(folder: Path, pages: dict[str, str]) -> None:
    """Write pages that are not there yet, leave equal ones, and remove those of names that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in set(folder.iterdir()) - {folder / name for name in pages}:
        old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def write_pages(app: Sphinx, _config: object) -> None:
    """Write all pages of the reference that are not kept as files."""
    docs = Path(app.srcdir)
    readme = (docs.parent / "README.md").read_text(encoding="utf-8")
    (docs / "readme.md").write_text(readme_page(readme), encoding="utf-8")
    reference = docs / "reference"
    api = {f"{package}.rst": package_page(package, names) for package, names in entries().items()}
    _write(reference / "api", {"index.rst": index_page(), "boosters.rst": boosters_page(), **api})
    _write(reference / "commands", {f"{name}.md": text for name, text in command_pages().items()})
    _write(reference / "settings", {"index.md": settings_page()})


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages once the configuration is known."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
