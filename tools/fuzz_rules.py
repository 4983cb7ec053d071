"""What must hold for every input of ``fuzz.py``: how the product opens one, how it may refuse it, how what it takes is used."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from fuzz_annotations import Spoiled
from fuzz_inputs import Input, builders
from sample_cascades import assert_same

from vjcascade import Cascade, Size
from vjcascade.cli.main import run as run_command
from vjcascade.detection import evaluate_windows
from vjcascade.errors import CascadeError, ModelError
from vjcascade.formats.cascade_files import dump_cascade, parse_cascade, recorded_settings
from vjcascade.imaging import MAX_PIXELS, image_size, read_gray, read_image, read_upright, to_gray
from vjcascade.training import TrainingSettings, train
from vjcascade.training.data.backgrounds import BackgroundImages
from vjcascade.training.data.positives import Positives
from vjcascade.training.data.reading import Reader
from vjcascade.training.events import Event, Note, null_listener

COMMAND_SECONDS = 9.0
"""After so many, a command in a process of its own is ended; less than the limit of ``fuzz.py``, so that none is left over."""

TRAINED_SHARE, OWN_PROCESS_SHARE = 0.1, 0.05
"""Of the lists that are taken, those that are trained from; of the command lines, those that run in a process of their own."""

MOST_CHARACTERS, MOST_LINES = 700, 50
"""Of a line, and lines of what refuses something; lists say line by line what is wrong."""


class FaultError(Exception):
    """A rule is broken."""


class Place(NamedTuple):
    """Where an input is, its number, and the text that the product has printed, for commands."""

    folder: Path
    number: int
    printed: Path

    def happens(self, share: float) -> bool:
        """Tell whether this input is one of a share."""
        return bool(np.random.default_rng(self.number).random() < share)


class Kind(Protocol):
    """What is done with inputs of a kind."""

    def try_input(self, given: Input, place: Place) -> str | None:
        """Open an input and use it; return the sentence that refuses it, if it is refused.

        Raises
        ------
        FaultError
            If a rule is broken. Whatever else is raised breaks one, too.
        """


class Models:
    """`Cascade.load`; what is loaded is saved, loaded again, and searched with."""

    def try_input(self, given: Input, place: Place) -> str | None:
        """Load a model and use it."""
        path = place.folder / given.words[0]
        try:
            cascade = Cascade.load(path)
        except CascadeError as error:
            return refused_sentence(error, path.name)
        cascade.save(place.folder / "saved.xml")
        assert_same(Cascade.load(place.folder / "saved.xml"), cascade)
        recorded_settings(path)
        _save_old(cascade)
        _search(cascade)
        return None


def _save_old(cascade: Cascade) -> None:
    """Save and load in the old format, unless it cannot express the model."""
    try:
        data = dump_cascade(cascade, "old")
    except ModelError:
        return
    parse_cascade(data, "old")


def _search(cascade: Cascade) -> None:
    rng = np.random.default_rng(0)
    width, height = cascade.window
    picture = builders.smooth_noise(rng, 40, 50)
    cascade.detect(picture, min_neighbors=0, n_threads=1)
    cascade.detect_dense(picture, n_threads=1)
    if width * height < 10**5:
        cascade.detect(rng.integers(0, 256, (height + 1, width + 9), np.uint8), min_neighbors=0, n_threads=1)
        evaluate_windows(cascade, rng.integers(0, 256, (2, height, width), np.uint8), n_threads=1)


class Lists:
    """What ``vjcascade train`` reads from a list; a share is trained from."""

    def try_input(self, given: Input, place: Place) -> str | None:
        """Read a list, and all that it names."""
        kind, name = given.words
        path = place.folder / name
        notes: list[str] = []

        def note(event: Event) -> None:
            notes.extend([event.text] if isinstance(event, Note) else [])

        reader = Reader(n_threads=1, strict=False, listener=note)
        try:
            crops = reader.positives(path if kind == "positives" else _crops(), Size(8, 8), None)
            photos = reader.photos(path if kind == "negatives" else _photos(), crops, 10**6)
        except CascadeError as error:
            return refused_sentence(error, path.name)
        _check_windows(crops)
        _check_photos(photos)
        _check_notes(notes)
        if place.happens(TRAINED_SHARE):
            _train(path if kind == "positives" else _crops(), path if kind == "negatives" else _photos())
        return None


@functools.cache
def _crops() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [builders.smooth_noise(rng, 12, 12) // np.repeat([1, 3], 6).astype(np.uint8) for _ in range(20)]


@functools.cache
def _photos() -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    return [builders.smooth_noise(rng, 30, 40) for _ in range(4)]


def _check_windows(crops: Positives) -> None:
    if (
        crops.windows.shape != (len(crops), 8, 8)
        or crops.windows.dtype != np.uint8
        or len(crops) != len(crops.groups)
    ):
        raise FaultError(f"windows of shape {crops.windows.shape}, {crops.windows.dtype}")


def _check_photos(photos: BackgroundImages) -> None:
    for i, size in enumerate(photos.sizes):
        ignored = photos.ignored(i)
        if photos[i].shape != size[::-1] or photos[i].dtype != np.uint8 or (ignored[:, 2:] <= 0).any():
            raise FaultError(
                f"photo {i}: shape {photos[i].shape}, {photos[i].dtype}, to ignore {ignored.tolist()}"
            )


def _check_notes(notes: list[str]) -> None:
    for text in notes:
        if len(text) > MOST_CHARACTERS or "\n" in text:
            raise FaultError(f"a note is no readable line: {text[:300]!r}")


def _train(crops: Path | list[np.ndarray], photos: Path | list[np.ndarray]) -> None:
    settings = TrainingSettings(max_stages=1, max_weak=2, n_negatives=30, max_windows=5_000)
    try:
        train(crops, photos, settings=settings, window=(8, 8), n_threads=1, listener=null_listener)
    except CascadeError as error:
        check_sentence(str(error))


class Pictures:
    """All readers of picture files, which must agree."""

    def try_input(self, given: Input, place: Place) -> str | None:
        """Read a picture in all ways."""
        path = place.folder / given.words[0]
        try:
            pixels = read_image(path)
        except CascadeError as error:
            for read in (read_gray, read_upright):
                _check_refused(read, path, str(error))
            return refused_sentence(error, f"{path}: ")
        gray, (upright, _) = read_gray(path), read_upright(path)
        if (
            pixels.dtype != np.uint8
            or (pixels.ndim != 2 and pixels.shape[2:] != (3,))
            or not pixels.flags.writeable
        ):
            raise FaultError(f"the picture has shape {pixels.shape}, {pixels.dtype}, flags {pixels.flags}")
        if image_size(path) != pixels.shape[1::-1] or not 0 < pixels.shape[0] * pixels.shape[1] <= MAX_PIXELS:
            raise FaultError(f"the picture has shape {pixels.shape}, announced was {image_size(path)}")
        if (to_gray(pixels) != gray).any() or (gray != upright).any():
            raise FaultError("grey levels depend on how they are read")
        return None


def _check_refused(read: object, path: Path, sentence: str) -> None:
    try:
        read(path)  # type: ignore[operator]
    except CascadeError as error:
        if str(error) == sentence:
            return
        raise FaultError(f"read_image says {sentence!r}, another reader {str(error)!r}") from None
    raise FaultError(f"read_image says {sentence!r}, another reader takes it")


class Commands:
    """The program ``vjcascade``, run in a folder of its own."""

    def try_input(self, given: Input, place: Place) -> str | None:
        """Run a command line; return what it says, if it ends with the code for wrong input."""
        with contextlib.chdir(place.folder):
            code = (
                _run_alone(given.words, place.printed)
                if place.happens(OWN_PROCESS_SHARE) and "\0" not in "".join(given.words)
                else run_command(list(given.words))
            )
        sys.stdout.flush()
        sys.stderr.flush()
        text = place.printed.read_text(errors="replace")
        if code not in (0, 2) or "internal error" in text or "Traceback" in text:
            raise FaultError(f"exit code {code}: {text[-2000:]}")
        if code == 0:
            return None
        check_sentence(text)
        if found := re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
            raise FaultError(f"{found[0]!r} reaches the terminal: {text[:2000]!r}")
        return text


def _run_alone(words: tuple[str, ...], printed: Path) -> int:
    with printed.open("ab") as file:
        command = [sys.executable, "-m", "vjcascade", *words]
        try:
            return subprocess.run(
                command, stdout=file, stderr=file, timeout=COMMAND_SECONDS, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            raise FaultError(f"it has not ended after {COMMAND_SECONDS} s") from None
        except ValueError as error:  # no system takes such words
            file.write(f"vjcascade: error: {error}".encode())
            return 2


KINDS: dict[str, Kind] = {
    "models": Models(),
    "lists": Lists(),
    "pictures": Pictures(),
    "commands": Commands(),
    "annotations": Spoiled(),
}


def refused_sentence(error: CascadeError, name: str) -> str:
    """Return the sentence of a refusal, which must name the file."""
    text = str(error)
    check_sentence(text)
    if name not in text:
        raise FaultError(f"{name!r} is not named: {text[:300]!r}")
    return text


def check_sentence(text: str) -> None:
    """Raise `FaultError` if a text is not for people."""
    lines = text.splitlines()
    if not text.strip() or len(lines) > MOST_LINES or max(map(len, lines)) > MOST_CHARACTERS:
        raise FaultError(f"no readable sentence, {len(lines)} lines, {len(text)} characters: {text[:2000]!r}")
    if found := _UNREADABLE.search(text):
        raise FaultError(f"{found[0]!r} in a sentence: {text[:2000]!r}")


_UNREADABLE = re.compile(
    r"Traceback|internal error|\b[A-Z]\w+(Error|Exception)\b|<[\w.]+ object at|\barray\("
)
"""What belongs to programs, not to people."""


def listing(folder: Path) -> dict[str, str]:
    """Return what is in a folder: a digest of each file, the target of each link, nothing for folders; by name."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent, name) for name in (*folders, *files)):
            found[path.relative_to(folder).as_posix()] = _content(path)
    return found


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def check_left(folder: Path, before: dict[str, str], given: Input, *, is_refused: bool) -> None:
    """Raise `FaultError` if inputs have changed, or if what is new is not whole; outputs that a command names may change."""
    after = listing(folder)
    outputs = _outputs(given.words)
    changed = [name for name in before if after.get(name) != before[name] and not _is_below(name, outputs)]
    if changed:
        raise FaultError(f"changed or gone: {', '.join(changed)}")
    for name in sorted(after.keys() - before.keys()):
        path = folder / name
        if path.is_dir():
            if is_refused and not any(path.iterdir()):
                raise FaultError(f"an empty folder is left: {name}")
        elif path.name.startswith(".") or path.suffix in {".tmp", ".part", ".lock"}:
            raise FaultError(f"left over: {name}")
        elif name not in outputs:
            _check_whole(path)


def _outputs(words: tuple[str, ...]) -> set[str]:
    """Return what a command line names as its outputs, in the form of `listing`."""
    pairs = [word.partition("=")[::2] for word in words if "=" in word] + list(pairwise(words))
    named = [value for option, value in pairs if option in {"-o", "--output", "--draw", "--events"}]
    named += words[2:] if words[0] == "convert" else ()
    return {os.path.normpath(name) for name in named}


def _is_below(name: str, outputs: set[str]) -> bool:
    return "." in outputs or any(name == one or name.startswith(f"{one}/") for one in outputs)


def _check_whole(path: Path) -> None:
    """Raise whatever comes of it if a file is not whole."""
    match path.suffix:
        case ".xml":
            Cascade.load(path)
        case ".png" | ".jpg":
            read_image(path)
        case ".json":
            json.loads(path.read_text())
        case ".jsonl":
            for line in path.read_text().splitlines():
                json.loads(line)
        case ".html" if not path.read_text().rstrip().endswith("</html>"):
            raise FaultError(f"{path.name} is not whole")
        case _ if not path.stat().st_size:
            raise FaultError(f"{path.name} is empty")
