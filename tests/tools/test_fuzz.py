"""Spoiled inputs: a share of them is tried, and faults that are planted are found."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs groups of processes")

PLANTED = """
import os, signal, sys, time, traceback
from pathlib import Path
from vjcascade.cli import main
from vjcascade.formats import cascade_files
from vjcascade.formats.annotations import opencv_lists, reading
from vjcascade.imaging import files

sys.modules["__main__"]._warm_up = lambda: None
parse, decode = cascade_files.parse_cascade, files._decoded_gray
read, refuse = opencv_lists._read_text, main._refuse_slips

def parse_badly(data, name):
    if Path(name).name.startswith("mod"):
        [][0]
    return parse(data, name)

def decode_forever(path, most):
    while Path(path).stem == "picture":
        time.sleep(1)
    return decode(path, most)

def leave_a_file(path):
    (path.parent / ".list.tmp").touch()
    return read(path)

def forget(path):
    {}["format"]

def crash(words):
    if "try_input" in [frame.name for frame in traceback.extract_stack()]:
        os.kill(os.getpid(), signal.SIGSEGV)
    refuse(words)

cascade_files.parse_cascade, files._decoded_gray = parse_badly, decode_forever
opencv_lists._read_text, main._refuse_slips, reading._reader_of_json = leave_a_file, crash, forget
"""


def test_a_share_of_all_inputs_is_taken_or_refused(run_program):
    done = run_program("fuzz.py", "--inputs", "10", "--workers", "1", "--no-bounds-checks", "--limit", "60")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "50 of 50 inputs" in done.stdout
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert [row[0].strip() for row in rows] == [
        "kind",
        "models",
        "lists",
        "pictures",
        "commands",
        "annotations",
    ]
    for _, *numbers in rows[1:]:
        n_inputs, n_taken, n_refused, n_faults = map(int, numbers)
        assert (n_inputs, n_taken + n_refused, n_faults) == (10, 10, 0)
        assert min(n_taken, n_refused) > 0


def test_planted_faults_are_found_and_kept(run_program, tmp_path):
    (tmp_path / "planted.py").write_text(PLANTED)
    options = [
        "--inputs",
        "1",
        "--workers",
        "1",
        "--no-bounds-checks",
        "--limit",
        "4",
        "--keep",
        tmp_path / "kept",
    ]
    done = run_program("fuzz.py", *options, "--first", tmp_path / "planted.py")
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    assert "IndexError: list index out of range" in done.stdout
    for fault in (
        "fault, lists:0: Traceback",
        "FaultError: left over: ",
        ".list.tmp\n",
        "fault, pictures:0: it has not ended after 4 s",
        "fault, commands:0: the process ended with SIGSEGV",
        "KeyError: 'format'",
    ):
        assert fault in done.stdout
    assert done.stdout.endswith(
        "| models | 1 | 0 | 0 | 1 |\n| lists | 1 | 0 | 0 | 1 |\n| pictures | 1 | 0 | 0 | 1 |\n"
        "| commands | 1 | 0 | 0 | 1 |\n| annotations | 1 | 0 | 0 | 1 |\n"
    )
    kept = sorted(path.relative_to(tmp_path / "kept").as_posix() for path in (tmp_path / "kept").glob("*/*"))
    names = [
        f"{kind}-0/{part}"
        for kind in ("annotations", "commands", "lists", "models", "pictures")
        for part in ("fault.txt", "input")
    ]
    assert kept == names


def test_one_seed_makes_the_same_inputs(program):
    fuzz = program("fuzz")
    for kind in fuzz.N_INPUTS:
        cases = [fuzz.Case(kind, number) for number in range(30)]
        inputs = [fuzz.make_input(case, 3) for case in cases]
        assert inputs == [fuzz.make_input(case, 3) for case in cases]
        assert all(one != other for one, other in pairwise(inputs))
        assert inputs[0] != fuzz.make_input(cases[0], 4)


def test_good_inputs_are_good(program, tmp_path):
    from vjcascade import Cascade
    from vjcascade.imaging import read_image

    inputs = program("fuzz_inputs")
    for i, data in enumerate(inputs.good_models().values()):
        (tmp_path / f"{i}.xml").write_bytes(data)
        assert Cascade.load(tmp_path / f"{i}.xml").n_trees >= 2
    for name, data in inputs.good_pictures().items():
        (tmp_path / "picture").write_bytes(data)
        if name != "TIFF float":  # is refused
            assert read_image(tmp_path / "picture").dtype == np.uint8


def test_words_for_people_have_no_names_of_errors(program):
    rules = program("fuzz_rules")
    rules.check_sentence("model.xml: line 3: this is no number; get a fresh copy")
    for text in ("", "KeyError: 'a'", "<object object at 0x1>", "a\n" * 60, "a" * 800, "internal error: x"):
        with pytest.raises(rules.FaultError):
            rules.check_sentence(text)


def test_what_is_left_must_be_whole(program, tmp_path):
    rules, inputs = program("fuzz_rules"), program("fuzz_inputs")
    given = inputs.Input(
        {"a.txt": b"a", "link": inputs.LINK + b"a.txt", "b": inputs.FOLDER}, ("detect", "-o", "out.txt")
    )

    def check(*, is_refused=False):
        rules.check_left(tmp_path, before, given, is_refused=is_refused)

    given.write(tmp_path)
    before = rules.listing(tmp_path)
    check()
    (tmp_path / "out.txt").touch()
    check()
    (tmp_path / "new").mkdir()
    check()
    with pytest.raises(rules.FaultError, match="an empty folder is left: new"):
        check(is_refused=True)
    (tmp_path / "new" / "page.html").write_text("<html>")
    with pytest.raises(rules.FaultError, match=r"page\.html is not whole"):
        check()
    (tmp_path / "new" / "page.html").rename(tmp_path / ".x.tmp")
    with pytest.raises(rules.FaultError, match=r"left over: \.x\.tmp"):
        check()
    (tmp_path / ".x.tmp").unlink()
    (tmp_path / "a.txt").write_text("b")
    with pytest.raises(rules.FaultError, match=r"changed or gone: a\.txt"):
        check()
