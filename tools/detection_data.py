"""Models, real pictures and OpenCV's Python for the programs that compare detection with OpenCV's."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import skimage
from library_process import LibraryError, LibraryProcess
from numpy.typing import NDArray
from opencv_environment import VARIABLE, absence, opencv_python

from vjcascade.imaging import find_images, read_image

PROJECT = Path(__file__).resolve().parent.parent
SHARED_DATA = PROJECT.parent / "shared" / "data"
BUNDLED = Path(skimage.__file__).parent / "data"
LBP_FILE = BUNDLED / "lbpcascade_frontalface_opencv.xml"
PREFIX = "haarcascade_"
SUFFIXES = (".png", ".jpg", ".pgm")
"""Of the files that are taken for pictures; there are others, of many pages or 16 bits."""


FILE_SUFFIXES = {".xml", ".yml", ".yaml", ".json", ".gz"}
"""Of the files that are taken for cascades."""


class Model(NamedTuple):
    """A model file, and the file that OpenCV reads: the same, or one that it can read."""

    name: str
    ours: Path
    theirs: Path


def find_oracle(named: Path | None = None) -> Path:
    """Return the Python of the OpenCV 4.14 environment: `named`, or where the tests look for it; or end the program."""
    found = opencv_python(named)
    if found is None:
        raise SystemExit(
            f"{absence(named)}: name the Python of an environment with OpenCV 4.14 by --oracle or {VARIABLE}"
        )
    return found


def find_models(opencv_folder: str, work: Path, wanted: Iterable[str] | None = None) -> list[Model]:
    """Return OpenCV's model files and scikit-image's LBP file, or those of them whose names are `wanted`."""
    paths = sorted(Path(opencv_folder).glob("*.xml"))
    models = [Model(path.stem.removeprefix(PREFIX), path, path) for path in paths]
    models.append(Model(LBP_FILE.stem, LBP_FILE, corrected_lbp(work)))
    if wanted is None:
        return models
    by_name = {model.name: model for model in models}
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        raise SystemExit(f"no models {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[name] for name in wanted]


def corrected_lbp(work: Path) -> Path:
    """Write scikit-image's LBP file without the slip of the pen for which OpenCV refuses it; return where."""
    corrected = work / LBP_FILE.name
    corrected.write_text(LBP_FILE.read_text().replace("featuhreParams", "featureParams"))
    return corrected


def files_in(folder: Path) -> list[Model]:
    """Return all files in a folder, and in those inside it, that may be cascades by their names."""
    paths = sorted(
        path for path in folder.rglob("*") if path.suffix.lower() in FILE_SUFFIXES and path.is_file()
    )
    return [Model(str(path.relative_to(folder)), path, path) for path in paths]


class Refusal(NamedTuple):
    """A model that cannot be compared, and why each library did not load it; nothing for the one that did."""

    name: str
    theirs: str
    ours: str

    def __str__(self) -> str:
        if self.theirs and self.ours:
            return f"{self.name} is skipped: neither loads it: {self.ours}"
        if self.ours:
            return f"{self.name} is skipped: only OpenCV loads it: {self.ours}"
        return f"{self.name} is skipped: only vjcascade loads it: {self.theirs}"


def loadable(
    models: Iterable[Model], cv: LibraryProcess, ours: LibraryProcess
) -> tuple[list[Model], list[Refusal]]:
    """Load models in both processes; return those that both can load, and the others."""
    good, refusals = [], []
    for model in models:
        refusal = Refusal(model.name, _why_not(cv, model.theirs), _why_not(ours, model.ours))
        if refusal.theirs or refusal.ours:
            refusals.append(refusal)
        else:
            good.append(model)
    return good, refusals


def _why_not(library: LibraryProcess, xml: Path) -> str:
    """Load a model; return why it cannot be, in one line, or nothing."""
    try:
        library.ask("load", xml=xml)
    except LibraryError as error:
        return " ".join(str(error).split())
    return ""


class Pictures:
    """Real pictures: those inside scikit-image, and the archives (or unpacked folders) of a folder.

    Parameters
    ----------
    data : Path
        Holds `NAME.tar.gz` or `NAME/`.
    work : Path
        Where archives are unpacked.
    """

    def __init__(self, data: Path, work: Path) -> None:
        self._data = data
        self._work = work

    def folder(self, name: str) -> Path | None:
        """Return the folder of an archive; None if there is no such archive."""
        if (self._data / name).is_dir():
            return self._data / name
        archive = self._data / f"{name}.tar.gz"
        if not archive.exists():
            return None
        if not (self._work / name).exists():
            with tarfile.open(archive) as tar:
                tar.extractall(self._work, filter="data")
        return self._work / name

    def paths(self, name: str) -> list[Path]:
        """Return all pictures of an archive, in a fixed order; none if there is no such archive."""
        folder = self.folder(name)
        return [] if folder is None else pictures_in(folder)

    @staticmethod
    def bundled() -> list[Path]:
        """Return the pictures inside scikit-image."""
        return pictures_in(BUNDLED)


def pictures_in(folder: Path) -> list[Path]:
    """Return the pictures in a folder, in a fixed order."""
    return [path for path in find_images(folder).paths if path.suffix in SUFFIXES]


def bgr(path: Path) -> NDArray[np.uint8]:
    """Return a picture as OpenCV has it: grey (h, w), or BGR (h, w, 3)."""
    picture = read_image(path)
    return picture if picture.ndim == 2 else np.ascontiguousarray(picture[:, :, ::-1])
