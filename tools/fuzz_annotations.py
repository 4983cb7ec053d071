"""Hostile annotations for ``fuzz.py``: good files of every format, each with accidents, and what must hold for them."""

from __future__ import annotations

import functools
import math
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from fuzz_inputs import (
    FOLDER,
    LINK,
    NUMBERS,
    Input,
    Rng,
    a_byte,
    a_cut,
    a_field,
    a_line,
    a_number,
    a_piece,
    a_word,
    an_encoding,
    builders,
    pick,
    picture_file,
)

from vjcascade.errors import CascadeError, ImageError
from vjcascade.formats.annotations.pictures import MAX_COORDINATE, AnnotatedObject, Annotations
from vjcascade.formats.annotations.reading import read_annotations
from vjcascade.formats.annotations.vec_files import write_vec
from vjcascade.imaging import image_header
from vjcascade.types import Size

SIZE = Size(48, 36)
"""Of all pictures."""

PICTURES = ("0.png", "1.png", "has blank.png", "\u00e9.png")

from annotation_files import FORMS, Photo  # noqa: E402  of the tests, which `fuzz_inputs` puts on the path

N_FORMS = len(FORMS) + 1
"""Formats, `.vec` among them."""


def make_annotations(rng: Rng) -> Input:
    """Return annotations with accidents in one of their files, and their pictures."""
    number = int(rng.integers(N_FORMS))
    files, opened = good_files(number)
    name = pick(rng, [name for name in files if not name.endswith(".png")])
    data, accidents = files[name], _BYTES if number == len(FORMS) else _TEXTS
    for _ in range(pick(rng, (1, 1, 1, 2, 3))):
        data = pick(rng, accidents)(data or b" ", rng)
    changed = files | {name: data}
    if rng.random() < 0.05:
        changed |= dict([pick(rng, _ODD)])
    return Input(changed, ("annotations", opened))


@functools.cache
def good_files(number: int) -> tuple[dict[str, bytes], str]:
    """Return good files of a format by their names, and which of them is to be opened."""
    rng = np.random.default_rng(0)
    pixels = {name: builders.smooth_noise(rng, SIZE.height, SIZE.width) for name in PICTURES}
    photos = [Photo(name, SIZE, _objects(rng)) for name in PICTURES[:-1]] + [Photo(PICTURES[-1], SIZE, [])]
    files = {name: picture_file(one, "PNG") for name, one in pixels.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for photo in photos:
            (folder / photo.name).parent.mkdir(exist_ok=True)
        if number < len(FORMS):
            opened = FORMS[number].write(folder, photos)
        else:
            opened = folder / "positives.vec"
            y, x = np.mgrid[:12, :20]
            write_vec(
                opened,
                np.array([(90 + 7 * x + 3 * y + 20 * np.sin(x * y + i)).astype(np.uint8) for i in range(12)]),
            )
        found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        files |= {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
        return files, opened.relative_to(folder).as_posix()


def _objects(rng: Rng) -> list[AnnotatedObject]:
    return [
        AnnotatedObject(
            (
                int(rng.integers(0, 20)),
                int(rng.integers(0, 10)),
                int(rng.integers(12, 28)),
                int(rng.integers(12, 26)),
            ),
            "car" if i else "bus",
        )
        for i in range(6)
    ]


def a_token(data: bytes, rng: Rng) -> bytes:
    """Replace, lose or double a text, number, bracket or tag."""
    tokens = list(re.finditer(rb'"[^"]*"|-?\d[\d.]*|[\[\]{}:,]|<[^>]*>|\w+', data))
    if not tokens:
        return data
    token = pick(rng, tokens)
    other = pick(rng, (b"", token[0] * 2, pick(rng, tokens)[0], *_TOKENS, *NUMBERS))
    return data[: token.start()] + other + data[token.end() :]


_TOKENS = [
    *(b"null", b"true", b"[]", b"{}", b'""', b'"x"', b"[1]", b'{"a": 1}', b"-1", b"1e999", b"NaN", b"Infinity", b"[" * 2000),
    *(b'{"a":' * 3000, b"&amp;", b"&lt;!DOCTYPE", b"<!-- -->", b"<![CDATA[x]]>", b"<!DOCTYPE a>", b"<a>", b"</a>", b"<box/>"),
    *(b"<box top='1' left='1' width='-5' height='nan'/>", b"*a", b"&a [1, 2]", b"!!python/name:os.getcwd", b"? 1", b"..", b"/etc/passwd"),
    *(b"/dev/zero", b"gone.png", b"0.png", b"sub", b"\\\\host\\a.png", b"a" * 300, b"\xff", b"\0", b"ignore", b"#", b";"),
]  # fmt: skip

_TEXTS: list[Callable[[bytes, Rng], bytes]] = [
    *[a_token] * 6, *[a_number] * 3, *[a_line] * 2, a_word, a_byte, a_cut, a_piece, an_encoding,
]  # fmt: skip

_BYTES: list[Callable[[bytes, Rng], bytes]] = [*[a_field] * 3, *[a_byte] * 2, a_cut, a_piece]

_ODD: list[tuple[str, bytes]] = [
    *[("0.png", content) for content in (b"", b"no picture", FOLDER, LINK + b"0.png", LINK + b"gone", LINK + b".")],
    *[(name, FOLDER) for name in ("labels", "images", "Annotations", "a.json", "a.xml", "a.txt")],
    *[("data.yaml", content) for content in (b"names: [a]\ntrain: .\n", b"", FOLDER)],
    *[("classes.txt", content) for content in (b"a\nb\n", b"\0", LINK + b"classes.txt")],
]  # fmt: skip


class Spoiled:
    """What ``read_annotations``, ``read_scenes`` and ``vjcascade train`` read from annotations; see `fuzz_rules.Kind`."""

    def try_input(self, given: Input, place: object) -> str | None:
        """Read annotations in all ways; return the sentence that refuses them."""
        from fuzz_rules import refused_sentence

        path = place.folder / given.words[1]  # type: ignore[attr-defined]
        try:
            label = None
            if path.suffix != ".vec":
                read = read_annotations(path)
                check_annotations(read)
                label = _usual_label(read)
                _check_scenes(path, label)
            _check_positives(path, label)
        except CascadeError as error:
            return refused_sentence(error, path.name)
        return None


def _usual_label(read: Annotations) -> str | None:
    labels = Counter(one.label for picture in read.pictures for one in picture.objects if one.label)
    return labels.most_common(1)[0][0] if labels else None


def _can_be_opened(path: Path) -> bool:
    try:
        image_header(path)
    except ImageError:
        return False  # what its file of annotations says cannot be compared, and whoever uses the picture is told
    return True


def check_annotations(read: Annotations) -> None:
    """Raise `FaultError` if a box, label, size or fault is none."""
    from fuzz_rules import FaultError, check_sentence

    for picture in read.pictures:
        numbers = [number for one in picture.objects for number in one.box]
        if not all(math.isfinite(number) and abs(number) < 2 * MAX_COORDINATE for number in numbers):
            raise FaultError(f"boxes {picture.boxes}")
        if not all(
            isinstance(one.label, str) and one.flag in {"", "ignore", "difficult", "crowd"}
            for one in picture.objects
        ):
            raise FaultError(f"objects {picture.objects}")
        if not picture.path.is_file():
            raise FaultError(f"picture {picture.path}, which is no file")
        if picture.objects and picture.size not in {None, SIZE} and _can_be_opened(picture.path):
            raise FaultError(f"picture {picture.path}, size {picture.size}")
    for fault in read.faults:
        check_sentence(fault.reason)
        if fault.place < 0 or not isinstance(fault.label, str):
            raise FaultError(f"fault {fault}")


def _check_scenes(path: Path, label: str | None) -> None:
    """Read scenes; what refuses them must say where."""
    from fuzz_rules import FaultError, refused_sentence

    from vjcascade.evaluation.scenes import read_scenes

    try:
        scenes = read_scenes(path, category=label)
    except CascadeError as error:
        refused_sentence(error, path.name)
        return
    for scene in scenes.scenes:
        ends = scene.boxes[:, :2] + scene.boxes[:, 2:]
        if (scene.boxes[:, :2] < 0).any() or (scene.boxes[:, 2:] <= 0).any() or (ends > scene.size).any():
            raise FaultError(f"boxes {scene.boxes.tolist()} in {scene.size}")


def _check_positives(path: Path, label: str | None) -> None:
    """Read what training would."""
    from fuzz_rules import FaultError

    from vjcascade.training.data.positives import load_positives

    window = None if path.suffix == ".vec" else Size(12, 9)
    crops = load_positives(path, window, n_threads=1, label=label)
    if crops.windows.shape[1:] != crops.window[::-1] or len(crops) != len(crops.groups):
        raise FaultError(f"windows of shape {crops.windows.shape} for {crops.window}")
