"""The program that looks at packages finds what is wrong with them. Packages are built by CI, which has a network."""

from __future__ import annotations

import tarfile
import zipfile

import check_packages
import pytest

import vjcascade


@pytest.fixture
def packages(tmp_path):
    """Return a wheel and an sdist with all that is wanted."""
    package = check_packages.PROJECT / "vjcascade"
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    wheel, sdist = tmp_path / "a.whl", tmp_path / "a.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in files:
            archive.write(path, path.relative_to(package.parent))
        for name in check_packages.MODELS:
            archive.write(check_packages.PROJECT / "models" / name, f"vjcascade/models/{name}")
    with tarfile.open(sdist, "w:gz") as archive:
        for path in files:
            archive.add(path, f"a-1/{path.relative_to(package.parent)}")
        for name in check_packages.IN_SDIST:
            archive.add(check_packages.PROJECT / name, f"a-1/{name}")
    return [wheel, sdist]


def test_whole_packages_are_well(packages):
    assert check_packages.what_is_missing(packages) == []
    assert check_packages.differences(packages, packages) == []


def test_what_is_missing_or_too_much_is_named(packages, tmp_path):
    wheel = tmp_path / "b.whl"
    with zipfile.ZipFile(packages[0]) as whole, zipfile.ZipFile(wheel, "w") as archive:
        for name in whole.namelist():
            if name not in ("vjcascade/__init__.pyi", "vjcascade/models/car.xml"):
                archive.writestr(name, whole.read(name))
        archive.writestr("tests/test_all.py", "")
    assert check_packages.what_is_missing([wheel, packages[1]]) == [
        "b.whl lacks vjcascade/__init__.pyi",
        "b.whl lacks vjcascade/models/car.xml",
        "b.whl has tests/test_all.py, which nobody needs",
    ]
    assert check_packages.differences([packages[0]], [wheel]) == [
        "a.whl is not the same bytes when it is built again"
    ]


def test_papers_about_the_package_name_its_version():
    project = check_packages.PROJECT
    assert f"\nversion: {vjcascade.__version__}\n" in (project / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {vjcascade.__version__}\n" in (project / "CHANGELOG.md").read_text(encoding="utf-8")
