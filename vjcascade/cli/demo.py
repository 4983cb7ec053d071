"""``vjcascade demo``: from pictures inside the scikit-image wheel to a face detector."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vjcascade.cli.options import CountOption

N_FACES = 100
"""The first windows of `lfw_subset` are faces, the others are not."""

MARGIN = 3
"""Pixels around the face that are cut off: hair and background differ too much to learn from so few."""

OPTIONS = ("--preset", "quick", "--held-out", "0")
"""Of the training: faces are too few here to hold any out."""

MIN_NEIGHBORS = "8"
"""Of the detection: a model of so few faces fires here and there; where there is a face, many windows agree."""

PHOTOS = (
    "brick.png",
    "cell.png",
    "chelsea.png",
    "coffee.png",
    "grass.png",
    "gravel.png",
    "hubble_deep_field.jpg",
    "ihc.png",
    "logo.png",
    "moon.png",
    "motorcycle_left.png",
    "motorcycle_right.png",
    "page.png",
    "retina.jpg",
    "rocket.jpg",
    "text.png",
)
"""Pictures of the wheel without a face; some coins in coins.png have one."""


def demo(
    *, output: Annotated[Path, Parameter(alias="-o")] = Path("demo"), threads: CountOption | None = None
) -> int:
    """Train and run a small face detector.

    Parameters
    ----------
    output : path
        Folder for the faces, the photos, the model and the result; those of an earlier demo are replaced.
    threads : int
        Processors to use; all if not given. The result does not depend on it.

    Returns
    -------
    int
        Exit code.
    """
    from vjcascade.imaging import opencv

    opencv()  # if it is missing, that is said before files are written
    pictures = _pictures()
    faces, photos, model = output / "faces", output / "photos", output / "model"
    _write_faces(pictures, faces)
    _copy_photos(pictures, photos)
    shared = [] if threads is None else ["--threads", str(threads)]
    code = _run(["train", faces, photos, "--output", model, "--overwrite", *OPTIONS, *shared])
    if code:
        return code
    picture = pictures / "astronaut.png"
    code = _run(
        [
            "detect",
            model / "cascade.xml",
            picture,
            "--min-neighbors",
            MIN_NEIGHBORS,
            "--draw",
            output,
            *shared,
        ]
    )
    if code:
        return code
    _say(f"\nsee {output / 'astronaut.found.png'}; a detector for real use needs thousands of faces")
    return code


def _pictures() -> Path:
    """Return the folder of the pictures."""
    try:
        import skimage
    except ImportError:
        from vjcascade.errors import MissingLibraryError

        raise MissingLibraryError(
            "the demo trains on pictures from scikit-image, which is not installed: pip install scikit-image"
        ) from None
    return Path(skimage.__file__).parent / "data"


def _write_faces(pictures: Path, folder: Path) -> None:
    """Write each face as a file."""
    import numpy as np

    from vjcascade.imaging import write_image

    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("face-*.png"):  # an earlier version of the demo wrote others
        left.unlink()
    windows = np.rint(255 * np.load(pictures / "lfw_subset.npy")[:N_FACES]).astype(np.uint8)
    for i, face in enumerate(windows[:, MARGIN:-MARGIN, MARGIN:-MARGIN]):
        write_image(folder / f"face-{i:03}.png", face)
    _say(f"{len(windows)} crops of faces: {folder}")


def _copy_photos(pictures: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in PHOTOS:
        shutil.copy(pictures / name, folder)
    _say(f"{len(PHOTOS)} photos without faces: {folder}")


def _run(arguments: Sequence[str | Path]) -> int:
    """Show a command line of this program and run it."""
    from vjcascade.cli.main import run

    words = [str(word) for word in arguments]
    _say(f"\n$ vjcascade {shlex.join(words)}")
    return run(words)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
