"""``vjcascade models``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from vjcascade.errors import SettingsError
from vjcascade.messages import pluralize, printable


def models(action: Literal["list", "fetch"] = "list", /, *, wheel: Path | None = None) -> None:
    """List the model files on this machine, or bring OpenCV's own.

    Parameters
    ----------
    action : {list, fetch}
        list: the names that commands take for a model, and the files. fetch: put OpenCV's model files into the user's
        data folder (or the one that the environment variable VJCASCADE_DATA names), from elsewhere on this machine or
        from the wheel of OpenCV 4, which pip downloads.
    wheel : path
        With fetch: a local wheel of OpenCV 4, such as opencv_python_headless-4.*.whl.
    """
    if action == "list":
        if wheel is not None:
            raise SettingsError("--wheel is for vjcascade models fetch: add fetch, or leave it out")
        _list()
    else:
        _fetch(wheel)


def _list() -> None:
    from vjcascade.compat import data
    from vjcascade.compat.fetching import OPENCV_FILES

    found = data.available()
    width = max(map(len, found), default=0)
    sys.stdout.write("".join(f"{name:<{width}}  {printable(str(path))}\n" for name, path in found.items()))
    missing = sum(file.name not in found for file in OPENCV_FILES)
    if missing:
        sys.stderr.write(
            f"{missing} of OpenCV's {pluralize(len(OPENCV_FILES), 'model file')} are missing: "
            "`vjcascade models fetch` downloads them\n"
        )


def _fetch(wheel: Path | None) -> None:
    from vjcascade.compat.fetching import OPENCV_FILES, fetch_models

    fetched = fetch_models(wheel, tell=lambda text: sys.stderr.write(f"{text}\n"))
    folder = next(iter(fetched.values())).parent
    sys.stdout.write(f"{pluralize(len(fetched), 'model file')} of OpenCV in {printable(str(folder))}\n")
    for licence in dict.fromkeys(file.licence for file in OPENCV_FILES):
        names = [file.name.removeprefix("haarcascade_") for file in OPENCV_FILES if file.licence == licence]
        sys.stdout.write(f"{licence}: {', '.join(names)}\n")
    sys.stdout.write("use one by its name: vjcascade detect haarcascade_eye PICTURE\n")
