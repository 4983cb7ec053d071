import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from vjcascade.files import (
    append_whole,
    made_folder,
    nameless_file,
    new_folder,
    read_at_most,
    remove_leftovers,
    write_atomic,
    write_together,
)

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="permissions and links of POSIX")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_creates_and_replaces(tmp_path):
    path = tmp_path / "model.xml"
    write_atomic(path, b"one")
    assert path.read_bytes() == b"one"
    write_atomic(path, b"two, longer")
    assert path.read_bytes() == b"two, longer"
    assert names(tmp_path) == ["model.xml"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step, failure):
    path = tmp_path / "model.xml"
    path.write_bytes(b"old")

    def fail(*args):
        raise failure

    monkeypatch.setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[step], fail)
    with pytest.raises(type(failure)) as caught:
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["model.xml"]
    if isinstance(failure, OSError):
        assert caught.value.errno == errno.ENOSPC
        assert caught.value.filename == str(path)


def test_missing_folder_is_named(tmp_path):
    path = tmp_path / "nowhere" / "model.xml"
    with pytest.raises(FileNotFoundError) as caught:
        write_atomic(path, b"")
    assert caught.value.filename == str(path)


def test_folder_is_refused(tmp_path):
    with pytest.raises(OSError) as caught:  # noqa: PT011  # Windows has another subclass for it
        write_atomic(tmp_path, b"")
    assert caught.value.filename == str(tmp_path)
    assert names(tmp_path) == []


@posix_only
def test_new_file_follows_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_atomic(tmp_path / "model.xml", b"")
    finally:
        os.umask(old)
    assert mode(tmp_path / "model.xml") == 0o640


@posix_only
def test_old_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "model.xml"
    path.touch()
    path.chmod(0o604)
    write_atomic(path, b"new")
    assert mode(path) == 0o604


@posix_only
def test_link_keeps_pointing(tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "model.xml"
    target.touch()
    link = tmp_path / "link.xml"
    link.symlink_to(target)
    write_atomic(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@posix_only
def test_device_is_written_in_place():
    write_atomic(Path(os.devnull), b"gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_longest_name_works(tmp_path):
    path = tmp_path / ("x" * 251 + ".xml")
    write_atomic(path, b"long")
    assert path.read_bytes() == b"long"


def test_what_a_killed_writer_left_can_be_removed(tmp_path, monkeypatch):
    """And nothing else."""
    (tmp_path / "model.tmp").touch()
    (tmp_path / ".vjcascade-run").touch()
    monkeypatch.setattr(Path, "replace", lambda *_: os.kill)  # killed before the file has its name
    write_atomic(tmp_path / "model.xml", b"new")
    assert len(names(tmp_path)) == 3
    remove_leftovers(tmp_path)
    assert names(tmp_path) == [".vjcascade-run", "model.tmp"]
    remove_leftovers(tmp_path / "nowhere")


def test_what_is_left_among_a_runs_pictures_is_removed(tmp_path):
    (tmp_path / "history").mkdir()
    (tmp_path / "history" / ".vjcascade-0123456789abcdef.tmp").touch()
    (tmp_path / "history" / "mean-positive.png").touch()
    remove_leftovers(tmp_path)
    assert names(tmp_path / "history") == ["mean-positive.png"]


@posix_only
def test_the_name_lasts_through_a_power_cut(tmp_path, monkeypatch):
    """The folder is synchronised after the file has its name, the file before."""
    synchronised, synchronise = [], os.fsync

    def note(file):
        synchronised.append((stat.S_ISDIR(os.fstat(file).st_mode), (tmp_path / "model.xml").exists()))
        synchronise(file)

    monkeypatch.setattr(os, "fsync", note)
    write_atomic(tmp_path / "model.xml", b"new")
    assert synchronised == [(False, False), (True, True)]


FILES = {"first": b"one", "second": b"two", "third": b"three"}


def test_files_that_belong_together_are_written_in_order(tmp_path, monkeypatch):
    (tmp_path / "second").write_bytes(b"old")
    taken, replace = [], Path.replace
    monkeypatch.setattr(Path, "replace", lambda path, to: taken.append(to.name) or replace(path, to))
    write_together({tmp_path / name: data for name, data in FILES.items()})
    assert taken == list(FILES)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == FILES


@pytest.mark.parametrize("n_fitting", range(3))
def test_of_files_that_belong_together_all_fit_or_none_is_written(tmp_path, monkeypatch, n_fitting):
    (tmp_path / "second").write_bytes(b"old")
    written = []

    def full(file):
        written.append(file)
        if len(written) > n_fitting:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_together({tmp_path / name: data for name, data in FILES.items()})
    assert caught.value.filename == str(tmp_path / list(FILES)[n_fitting])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"second": b"old"}


@pytest.mark.parametrize("n_fitting", [0, 3, 9])
def test_what_is_appended_is_whole_or_taken_back(tmp_path, leave_room, n_fitting):
    """Systems write what fits, and say that the disk is full at the next attempt."""
    path = tmp_path / "lines"
    path.write_bytes(b"before\n")
    with path.open("ab", buffering=0) as file:
        room = leave_room(n_fitting)
        with pytest.raises(OSError, match="No space left"):
            append_whole(file, b"0123456789")
        assert path.read_bytes() == b"before\n"
        room[0] = 10
        append_whole(file, b"0123456789")
    assert path.read_bytes() == b"before\n0123456789"


@posix_only
def test_what_cannot_be_taken_back_is_appended_all_the_same():
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as pipe, os.fdopen(writer, "ab", buffering=0) as file:
        append_whole(file, b"to a pipe")
        assert pipe.read1() == b"to a pipe"


def test_a_nameless_file_names_the_folder_in_its_errors(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        nameless_file(tmp_path / "nowhere")
    assert caught.value.filename == str(tmp_path / "nowhere")


@posix_only
def test_where_files_need_names_a_kill_leaves_one_that_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile._O_TMPFILE_WORKS", False)
    monkeypatch.setattr("tempfile._os.unlink", lambda _: None)  # killed before
    nameless_file(tmp_path).close()
    assert len(names(tmp_path)) == 1
    monkeypatch.undo()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == []


def test_folders_that_stay_empty_go_again(tmp_path):
    (tmp_path / "a").mkdir()
    with made_folder(tmp_path / "a" / "b" / "c"):
        (tmp_path / "a" / "b" / "file").touch()
    assert names(tmp_path / "a" / "b") == ["file"]
    with pytest.raises(NotADirectoryError), made_folder(tmp_path / "a" / "b" / "file" / "d"):
        pass
    with made_folder(tmp_path / "a"):
        (tmp_path / "a" / "b" / "file").unlink()
        (tmp_path / "a" / "b").rmdir()
    assert names(tmp_path) == ["a"]


@posix_only
def test_what_has_no_end_is_not_read_whole(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert read_at_most(tmp_path / "a", 3) == b"abc"
    for path in (tmp_path / "a", Path("/dev/zero")):
        with pytest.raises(OSError, match="it has more than") as caught:
            read_at_most(path, 2)
        assert caught.value.filename == str(path)


def test_a_new_folder_is_there_at_the_end_or_never(tmp_path):
    with new_folder(tmp_path / "a" / "b") as place:
        (place / "file").write_text("x")
        assert not (tmp_path / "a" / "b").exists()
    assert names(tmp_path / "a") == ["b"]
    assert names(tmp_path / "a" / "b") == ["file"]

    def fail():
        with new_folder(tmp_path / "c" / "d") as place:
            (place / "file").write_text("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert names(tmp_path) == ["a"]


def test_a_new_folder_takes_the_place_of_an_empty_one_only(tmp_path):
    (tmp_path / "empty").mkdir()

    def fill(name):
        with new_folder(tmp_path / "empty") as place:
            (place / name).write_text("x")

    fill("file")
    with pytest.raises(OSError, match="empty"):
        fill("other")
    assert names(tmp_path) == ["empty"]
    assert names(tmp_path / "empty") == ["file"]


def test_errors_name_the_file_of_a_new_folder(tmp_path):
    with pytest.raises(FileNotFoundError) as raised, new_folder(tmp_path / "new") as place:
        (place / "missing" / "file").write_text("x")
    assert raised.value.filename == str(tmp_path / "new" / "missing" / "file")
