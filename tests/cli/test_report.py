"""``vjcascade report``, from a training to the page."""

import pytest


def test_a_training_and_its_report(run, easy):
    options = ("--window", "24x24", "--stages", "1", "--negatives", "60", "--no-baseline")
    events = easy / "events"
    trained = run("train", easy / "pos", easy / "neg", "-o", easy / "out", "--events", events, *options)
    assert trained.code == 0
    assert f"vjcascade report {easy / 'out'}" in trained.out
    assert b'"event": "progress"' in events.read_bytes()
    kept = (easy / "out" / "events.jsonl").read_bytes()
    assert b'"event": "progress"' not in kept
    assert kept.count(b'"event": "stage"') == 1

    ran = run("report", easy / "out")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"report: {easy / 'out' / 'report.html'}")
    page = (easy / "out" / "report.html").read_text(encoding="utf-8")
    assert f"vjcascade train {easy / 'pos'} {easy / 'neg'}" in page
    assert "Worst false alarms" in page


def test_a_model_file(run, accept_all, tmp_path):
    assert run("report", accept_all).code == 0
    assert (tmp_path / "accept-all.xml.report.html").exists()
    assert run("report", accept_all, "--output", tmp_path / "page.html").code == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("none.xml",), "none.xml"),
        ((".",), "cascade.xml"),
        (("accept-all.xml", "--output", "accept-all.xml"), "would overwrite the model"),
        (("accept-all.xml", "--output", "no/folder.html"), "there is no folder"),
        (("notes.txt",), "notes.txt"),
    ],
)
def test_wrong_command_lines(run, accept_all, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("no model")
    before = accept_all.read_bytes()
    ran = run("report", *words)
    assert ran.code == 2
    assert told in ran.err
    assert accept_all.read_bytes() == before


def test_events_are_not_mixed_with_other_files(run, easy):
    (easy / "list.txt").write_text("pos/000.png")
    ran = run("train", easy / "pos", easy / "neg", "-o", easy / "out", "--events", easy / "list.txt")
    assert ran.code == 2
    assert "holds something else" in ran.err
    assert (easy / "list.txt").read_text() == "pos/000.png"
