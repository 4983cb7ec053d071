"""The processes that the comparisons with OpenCV talk to."""

import sys

import pytest


def test_an_error_is_an_answer(program):
    library_process = program("library_process")
    with library_process.LibraryProcess(sys.executable, "vjcascade") as ours:
        with pytest.raises(library_process.LibraryError, match=r"missing\.xml"):
            ours.ask("load", xml="missing.xml")
        assert ours.ask("about")["version"].startswith("vjcascade ")


def test_a_process_that_dies(program):
    library_process = program("library_process")
    dead = library_process.LibraryProcess(sys.executable, "no such library")
    with dead, pytest.raises(library_process.LibraryError, match="exit status 1"):
        dead.ask("about")
