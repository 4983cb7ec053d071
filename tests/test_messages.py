from __future__ import annotations

from pathlib import Path

import pytest

from vjcascade import messages
from vjcascade.messages import near_file, near_name, pluralize, suggest


def test_counted():
    assert [pluralize(n, "stage") for n in (0, 1, 2)] == ["0 stages", "1 stage", "2 stages"]


@pytest.mark.parametrize(
    ("name", "near"), [("normel", "normal"), ("NORMAL", "normal"), ("quik", "Quick"), ("zzz", ""), ("", "")]
)
def test_near_names(name, near):
    assert near_name(name, iter(["Quick", "normal"])) == near
    assert suggest(name, iter(["Quick", "normal"])) == (
        f"did you mean {near!r}?" if near else "choose from: Quick, normal"
    )


def test_near_files(tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    (tmp_path / "model.xml").touch()
    assert near_file(tmp_path / "modls") == "models"
    assert near_file(tmp_path / "modls.xml", Path.is_file) == "model.xml"
    assert near_file(tmp_path / "zzz") == ""
    assert near_file(tmp_path / "gone" / "models") == ""
    assert near_file(tmp_path / "model.xml" / "models") == ""
    monkeypatch.setattr(messages, "MAX_NAMES", 0)
    assert near_file(tmp_path / "modls") == ""
