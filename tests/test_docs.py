"""The site's pages: all are reachable, their links resolve, and every public name has an entry with an example."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from markdown_pages import PROJECT

import vjcascade

DOCS = PROJECT / "docs"
GENERATED = ("reference/api/", "reference/commands/", "reference/settings/", "readme.md")
"""Written when the site is built, in `.ci/run`, where Sphinx checks links to them."""

sys.path.insert(0, str(DOCS / "_extensions"))
reference = pytest.importorskip("generated_pages")  # without Sphinx, the extra `docs` is not there
pytest.importorskip("sklearn", reason="the reference has the estimators, which need scikit-learn")

PAGES = [path for path in DOCS.rglob("*.md") if not path.relative_to(DOCS).as_posix().startswith(GENERATED)]


def targets(page: Path) -> list[str]:
    """Return what a page links to, without addresses on the network."""
    found = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    return [name for name in found if "://" not in name]


@pytest.mark.parametrize("page", [*PAGES, PROJECT / "README.md"], ids=lambda path: path.stem)
def test_links_lead_to_files(page):
    paths = [(page.parent / name).resolve() for name in targets(page)]
    made = tuple(f"{DOCS}/{name}" for name in GENERATED)
    assert [path for path in paths if not path.exists() and not path.as_posix().startswith(made)] == []


def test_every_package_that_has_public_names_is_in_the_reference():
    subpackages = {
        f"vjcascade.{name}" for name in vjcascade.__all__ if inspect.ismodule(getattr(vjcascade, name))
    }
    assert subpackages <= set(reference.PACKAGES)


ENTRIES = [
    (package, name)
    for package, names in reference.entries().items()
    for name in names
    if callable(getattr(importlib.import_module(package), name))
]


@pytest.mark.parametrize(("package", "name"), ENTRIES, ids=lambda text: text.rpartition(".")[2])
def test_every_public_name_has_an_example(package, name):
    thing = f"{package}.{name}"
    assert ">>>" in documentation(reference.EXAMPLE_IN.get(name, thing))


def documentation(dotted: str) -> str:
    """Return the docstring of something public."""
    package, name = dotted.rsplit(".", 1)
    return inspect.getdoc(getattr(importlib.import_module(package), name)) or ""


def test_examples_of_the_extension_hold():
    failed, tried = doctest.testmod(reference)
    assert (failed, tried) == (0, 2)


def test_examples_of_commands_are_blocks_of_code():
    pages = reference.command_pages()
    assert "```console\nvjcascade train crops photos --output signs --preset quick\n```" in pages["train"]


def test_pointers_to_examples_are_needed():
    homes = {name: package for package, name in ENTRIES}
    own = {name: documentation(f"{homes[name]}.{name}") for name in reference.EXAMPLE_IN if name in homes}
    assert [name for name, text in own.items() if ">>>" in text] == []
