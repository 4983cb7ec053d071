"""Model files that are already on this machine; the place of `cv2.data`.

`haarcascades` and `lbpcascades` are folders as strings that end in a separator, for code that says
`cv2.data.haarcascades + "haarcascade_eye.xml"`. Without such files on the machine, they name the folder where the
installed OpenCV would have them; loading then fails with a message that says where to get them.

Examples
--------
>>> find("frontalface").name
'frontalface.xml'
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from vjcascade.errors import ModelNotFoundError
from vjcascade.messages import near_name, suggest

_chosen: dict[str, str] = {}
"""The folder that `haarcascades` or `lbpcascades` names: once found, the same from any working directory."""

_seen: dict[Path, None] = {}
"""All folders in which model files were found, in order; they are looked at again last, from any working directory."""

haarcascades: str
lbpcascades: str

WHERE_TO_GET = (
    "OpenCV's model files come with its wheels before version 5 (`pip install --no-deps --target opencv4 "
    '"opencv-python-headless<5"` puts them into opencv4/cv2/data, where code that runs in the same folder '
    "finds them), with the Debian package opencv-data, and are in the folder data of OpenCV's source, branch 4.x"
)

FETCH = "`vjcascade models fetch` downloads OpenCV's; without it: "
"""What comes before `WHERE_TO_GET` where a model file is not found."""

_PATTERNS = {"haarcascades": "haarcascade_*.xml", "lbpcascades": "lbpcascade*.xml"}
_PREFIXES = ("", "haarcascade_", "lbpcascade_")

_IN_ENVIRONMENT = (
    "lib*/python3*/*-packages/cv2/data",
    "Lib/site-packages/cv2/data",
    "share/opencv4/*cascades",
    "share/opencv/*cascades",
    "share/OpenCV/*cascades",
    "Library/etc/*cascades",
    "etc/*cascades",
    "lib*/python3*/*-packages/skimage/data",
    "Lib/site-packages/skimage/data",
)
"""Where OpenCV's wheels, packages and builds, and scikit-image, put files into an environment or a system."""

_IN_WORKING_DIRECTORY = ("opencv*/cv2/data", "opencv*/data/*cascades")
"""Where `pip install --target opencv4`, and OpenCV's source, put files into the working directory."""

_SYSTEMS = ("/usr", "/usr/local", "/opt/homebrew", "/opt/local", "C:/opencv/build", "C:/tools/opencv/build")
_CONDAS = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba")
_MOST_ENVIRONMENTS = 100
"""Environments looked into in any one folder, so that a search stays short."""


def find(name: str | bytes | os.PathLike[str]) -> Path:
    """Find a model file by name.

    Parameters
    ----------
    name : str or path-like
        File name, with or without the suffix `.xml` and the prefix `haarcascade_` or `lbpcascade_`; a folder
        before it is not looked at.

    Returns
    -------
    Path
        The first file of that name, see `available`.

    Raises
    ------
    ModelNotFoundError
        If there is none; the message tells near names, or where to get the files.

    Examples
    --------
    >>> find("frontalfaces")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    vjcascade.errors.ModelNotFoundError: no model file 'frontalfaces' on this machine; ...
    """
    stem = Path(os.fsdecode(name)).name.removesuffix(".xml")
    known = available()
    for prefix in _PREFIXES:
        if prefix + stem in known:
            return known[prefix + stem]
    near = "" if _is_of_opencv(stem) else _near(stem, known)
    raise ModelNotFoundError(f"no model file {stem!r} on this machine; {near}{FETCH}{WHERE_TO_GET}")


def _is_of_opencv(stem: str) -> bool:
    """Tell whether OpenCV 4 came with a model file of a name, with or without the prefix.

    Examples
    --------
    >>> _is_of_opencv("haarcascade_eye"), _is_of_opencv("frontalface")
    (True, False)
    """
    from vjcascade.compat.fetching import OPENCV_FILES

    return f"haarcascade_{stem.removeprefix('haarcascade_')}" in {file.name for file in OPENCV_FILES}


def available() -> dict[str, Path]:
    """Return all model files found on this machine, by their names without `.xml`, sorted.

    Looked at are, in this order, ours; `cv2/data` beside the modules that can be imported, and scikit-image's
    LBP file there; what `vjcascade models fetch` has put into the user's data folder; a wheel or source of OpenCV in a
    folder `opencv*` of the working directory; the environments that
    are active, those in the working directory (`.venv*`, `venv*`, `env`), and those in the usual places of conda and
    virtualenvwrapper; OpenCV's packages and builds in the system's folders; and, after a change of the working
    directory, what was found before. Where a name comes twice, the first counts.

    Examples
    --------
    >>> "frontalface" in available()
    True
    """
    found: dict[str, Path] = {}
    for file in chain.from_iterable(map(_models_in, _folders())):
        found.setdefault(file.stem, file)
    _seen.update(dict.fromkeys(file.parent for file in found.values()))
    return dict(sorted(found.items()))


def user_folder() -> Path:
    """Return the folder for what the user has fetched, whether there or not.

    The environment variable VJCASCADE_DATA names another one than the system's usual place.

    Examples
    --------
    >>> user_folder().is_absolute()
    True
    """
    named, home = os.environ.get("VJCASCADE_DATA"), Path(os.path.expanduser("~")).absolute()  # noqa: PTH111  never fails
    if named:
        return Path(named).absolute()
    if sys.platform == "win32":
        usual = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        usual = home / "Library" / "Application Support"
    else:
        usual = os.environ.get("XDG_DATA_HOME") or home / ".local" / "share"
    return Path(usual).absolute() / "vjcascade"


def has_models(folder: str, kind: str) -> bool:
    """Tell whether a folder has model files of a kind, "haarcascades" or "lbpcascades".

    Examples
    --------
    >>> has_models("no such folder", "haarcascades")
    False
    """
    return bool(folder) and any(_matching(Path(folder), _PATTERNS[kind]))


def hint(name: str) -> str:
    """Say what to do about a model file that is not where it was looked for.

    Examples
    --------
    >>> hint("frontalface.xml")  # doctest: +ELLIPSIS
    "there is one at ...frontalface.xml, which vjcascade.compat.data.find('frontalface') returns"
    """
    try:
        path = find(name)
    except ModelNotFoundError as error:
        return str(error)
    return f"there is one at {path}, which vjcascade.compat.data.find({path.stem!r}) returns"


def __getattr__(name: str) -> str:
    if name not in _PATTERNS:
        hint = suggest(name, ["haarcascades", "lbpcascades", "find", "available", "user_folder"])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {hint}")
    if not has_models(_chosen.get(name, ""), name):
        with_models = (str(folder) for folder in _folders() if has_models(str(folder), name))
        _chosen[name] = next(with_models, "")
        if _chosen[name]:
            _seen[Path(_chosen[name])] = None  # `find` knows it, too, after a change of the working directory
    return os.path.join(_chosen[name] or _default_folder(), "")  # noqa: PTH118  (the separator at the end)


def _default_folder() -> Path:
    """Return where the installed OpenCV would have its files, or our own folder."""
    return next((folder for folder in _beside_modules("cv2/data") if folder.is_dir()), _own_folder())


def _near(stem: str, known: Iterable[str]) -> str:
    """Return a question for what may have been meant, or nothing."""
    bare = {name.removeprefix("haarcascade_").removeprefix("lbpcascade_"): name for name in known}
    near = near_name(stem.removeprefix("haarcascade_").removeprefix("lbpcascade_"), bare)
    return f"did you mean {bare[near]!r}? " if near else ""


def _own_folder() -> Path:
    """Return the folder of this package's models: in the wheel, or beside the package in its source tree."""
    package = Path(__file__).resolve().parents[1]
    in_source = package.parent / "models"
    return in_source if (package.parent / "pyproject.toml").is_file() else package / "models"


def _folders() -> Iterator[Path]:
    """Yield the folders to look at, best first, whether there or not; see `available`."""
    yield _own_folder()
    yield from _beside_modules("cv2/data")
    yield from _beside_modules("skimage/data")
    yield user_folder() / "haarcascades"
    for pattern in _IN_WORKING_DIRECTORY:
        yield from _matching(Path(), pattern)
    for root in _environments():
        for pattern in _IN_ENVIRONMENT:
            yield from _matching(root, pattern)
    yield from list(_seen)


def _beside_modules(name: str) -> Iterator[Path]:
    """Yield a folder for every place that modules are imported from."""
    return (Path(entry).absolute() / name for entry in sys.path)


def _environments() -> Iterator[Path]:
    """Yield the roots of Python environments and of the system."""
    active = (os.environ.get(name) for name in ("CONDA_PREFIX", "VIRTUAL_ENV"))
    yield from (Path(root) for root in (sys.prefix, sys.base_prefix, *active) if root)
    yield from (root for pattern in (".venv*", "venv*", "env") for root in _matching(Path(), pattern))
    try:
        home = Path.home()
    except RuntimeError:  # no home folder
        home = Path()
    yield from _matching(home, ".virtualenvs/*")
    for conda in _CONDAS:
        yield home / conda
        yield from _matching(home / conda, "envs/*")
    yield from map(Path, _SYSTEMS)


def _models_in(folder: Path) -> list[Path]:
    """Return the model files in a folder; in ours, whatever their names."""
    patterns = ["*.xml"] if folder == _own_folder() else _PATTERNS.values()
    return sorted(file for pattern in patterns for file in _matching(folder, pattern))


def _matching(folder: Path, pattern: str) -> list[Path]:
    """Return what matches in a folder, as absolute paths; nothing where it cannot be read."""
    try:
        return sorted(islice(folder.absolute().glob(pattern), _MOST_ENVIRONMENTS))
    except OSError:
        return []
