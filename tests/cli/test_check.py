"""``vjcascade check``."""

from __future__ import annotations

import json

import pytest


def test_the_verdict_comes_first(run, easy):
    ran = run("check", easy / "pos", easy / "neg")
    assert ran.code == 0
    first = ran.out.splitlines()[0]
    assert first.startswith("Fix ")
    assert "to do: add more" in ran.out
    assert f"next: check again, and then train: vjcascade train {easy / 'pos'} {easy / 'neg'}" in ran.out


def test_json_and_page(run, easy):
    ran = run("check", easy / "pos", easy / "neg", "--json", "--html", easy / "check.html", "--threads", "1")
    assert ran.code == 0
    values = json.loads(ran.out)
    assert values["verdict"] in (easy / "check.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pos", "nothing"), "does not exist"),
        (("pos", "pos"), "given for positives and negatives"),
        (("pos", "neg", "--html", "."), "the output must be a file"),
        (("pos", "neg", "--html", "out.png"), "the output is an HTML page; give a name that ends in .html"),
        (("neg", "pos", "--window", "300x300"), "window"),
    ],
)
def test_wrong_input_is_refused(run, easy, monkeypatch, words, message):
    monkeypatch.chdir(easy)
    ran = run("check", *words)
    assert ran.code == 2
    assert message in ran.err
