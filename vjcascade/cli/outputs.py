"""Where results go: looked at before the work, so that nothing is lost after it."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from vjcascade.errors import SettingsError
from vjcascade.files import made_folder, nameless_file, real_path

PAGE_SUFFIXES = (".html", ".htm")


def check_output_file(path: Path) -> None:
    """Refuse a file that cannot be written.

    Raises
    ------
    SettingsError
        If it is a folder, or its folder is not there or may not be written to.
    """
    if path.is_dir():
        raise SettingsError(
            f"{path}: the output must be a file and this is a folder; add a name, such as {path / 'found'}"
        )
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe
        return
    folder = real_path(path).parent
    if not folder.is_dir():
        raise SettingsError(f"{path}: there is no folder {folder}; make it first")
    _try_to_write(folder, f"{path}: no file can be written there")


def check_page(path: Path) -> None:
    """Refuse a page that cannot be written, or whose name is not that of a page.

    Raises
    ------
    SettingsError
        As for `check_output_file`, or if the name has another suffix than `PAGE_SUFFIXES`.
    """
    check_output_file(path)
    if path.suffix.lower() not in PAGE_SUFFIXES:
        raise SettingsError(
            f"{path}: the output is an HTML page; give a name that ends in {PAGE_SUFFIXES[0]}"
        )


@contextmanager
def output_folder(folder: Path, option: str = "--draw") -> Iterator[None]:
    """Make a folder, unless it is there; it goes again if nothing is put in. `option` is what it was given to.

    Raises
    ------
    SettingsError
        If it is a file, cannot be made or may not be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder}: {option} needs a folder and this is a file; give another name")
    problem = f"{folder}: this folder for {option} cannot be used"
    with ExitStack() as stack:
        try:
            stack.enter_context(made_folder(folder))
        except OSError as error:
            raise _refusal(problem, error) from error
        _try_to_write(folder, problem)
        yield


def refuse_overwriting(targets: Iterable[Path], kept: Iterable[Path]) -> None:
    """Refuse output files that are among the files to keep.

    Parameters
    ----------
    targets : iterable of Path
        The files that will be written.
    kept : iterable of Path
        The model and the inputs.

    Raises
    ------
    SettingsError
        If the name of one of the first leads to one of the second.
    """
    kept_files = {real_path(path) for path in kept}
    for target in targets:
        if target.exists() and real_path(target) in kept_files:
            raise SettingsError(
                f"{target}: the output would overwrite the model or an input; give another name or folder"
            )


def _try_to_write(folder: Path, problem: str) -> None:
    try:
        with nameless_file(folder):
            pass
    except OSError as error:
        raise _refusal(problem, error) from error


def _refusal(problem: str, error: OSError) -> SettingsError:
    reason = (error.strerror or str(error)).lower()
    mending = "make room" if error.errno == errno.ENOSPC else "fix its permissions"
    return SettingsError(f"{problem} ({reason}); give another path, or {mending}")
