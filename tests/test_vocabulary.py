"""Names, messages, docstrings and pages use the words of the field; see `vocabulary.toml`."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from markdown_pages import PROJECT

WORDS = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))
CODE = sorted((PROJECT / "vjcascade").rglob("*.py"))
PAGES = [
    *PROJECT.glob("*.md"),
    *(path for name in ("docs", "models", "samples") for path in (PROJECT / name).rglob("*.md")),
    *(path for path in (PROJECT / "vjcascade").rglob("*") if path.suffix in {".html", ".js", ".h"}),
]
GENERATED = PROJECT / "docs" / "reference"
"""Its folders are written from docstrings, which are looked at themselves."""

COPY_OF_README = PROJECT / "docs" / "readme.md"
"""As old as the last build of the site."""

PHRASES = [re.compile(pattern) for pattern in WORDS["phrases"]]


@cache
def code() -> dict[Path, list[ast.AST]]:
    """Return the nodes of every module."""
    return {path: list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in CODE}


def names(nodes: list[ast.AST]) -> Iterator[tuple[str, str, int]]:
    """Yield (kind, name, line) of what a module defines; underscores in front do not count."""
    for node in nodes:
        match node:
            case ast.ClassDef(name=name):
                yield "classes", name.lstrip("_"), node.lineno
            case ast.FunctionDef(name=name):
                yield "functions", name.lstrip("_"), node.lineno
            case (
                ast.arg(arg=name)
                | ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
            ):
                yield "variables", name.lstrip("_"), node.lineno


def phrases(text: str) -> list[str]:
    """Return the phrases that a text should not have, wherever its lines are broken."""
    prose = " ".join(text.lower().split())
    return [found[0] for pattern in PHRASES for found in pattern.finditer(prose)]


def place(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def test_names_are_those_of_the_field():
    found = [
        f"{place(path)}:{line}: {name}: better {WORDS[kind][name]}"
        for path, nodes in code().items()
        for kind, name, line in names(nodes)
        if name in WORDS[kind]
    ]
    found += [
        f"{place(path)}: better {WORDS['modules'][path.stem]}"
        for path in CODE
        if path.stem in WORDS["modules"]
    ]
    assert found == []


def test_messages_help_and_docstrings_are_plain():
    found = [
        f"{place(path)}:{node.lineno}: {phrase}"
        for path, nodes in code().items()
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for phrase in phrases(node.value)
    ]
    assert found == []


def test_pages_are_plain():
    found = [
        f"{place(path)}: {one}"
        for path in PAGES
        if GENERATED not in path.parents[1:] and path != COPY_OF_README
        for one in phrases(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("Frames that came\n  too fast are counted", True),
        ("It is told of here", True),
        ("Windows are told apart by their hash", False),
        ("Costs say what a missed object costs", True),
        ("Costs set the price of a miss relative to a false alarm", False),
    ],
)
def test_phrases_are_found_across_lines(text, is_found):
    assert bool(phrases(text)) == is_found
