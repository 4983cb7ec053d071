"""Hostile files for ``fuzz.py``: good models, lists and pictures, each with accidents.

The seed and the number of an input decide all of it. What accidents happen to texts and bytes is shared with the tests of model files
(``tests/model_files.py``).
"""

from __future__ import annotations

import functools
import gzip
import re
import struct
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from PIL import Image

from vjcascade import Cascade
from vjcascade.formats.cascade_files import dump_cascade
from vjcascade.types import FeatureType

PROJECT = Path(__file__).resolve().parents[1]
sys.path.append(str(PROJECT / "tests"))

import builders  # noqa: E402  of the tests
import model_files  # noqa: E402
import picture_files  # noqa: E402

FOLDER, LINK = b"<folder>", b"<link>"
"""Content of what is no file: a folder, and a link, before its target."""

Rng = np.random.Generator
Item = TypeVar("Item")


class Input(NamedTuple):
    """What is put into an empty folder, and what is given to the product then.

    Attributes
    ----------
    files : dict of str to bytes
        Contents by name below the folder; `FOLDER` makes a folder, `LINK` and a name a link.
    words : tuple of str
        The name of the model or picture; the kind and the name of a list; or a command line.
    """

    files: dict[str, bytes]
    words: tuple[str, ...]

    def write(self, folder: Path) -> None:
        """Put the files into a folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content == FOLDER:
                path.mkdir()
            elif content.startswith(LINK):
                path.symlink_to(content.removeprefix(LINK).decode())
            else:
                path.write_bytes(content)


def pick(rng: Rng, items: Sequence[Item]) -> Item:
    """Return one of the items."""
    return items[int(rng.integers(len(items)))]


# Accidents of bytes and texts. Each takes bytes and a generator, and returns other bytes.


def a_byte(data: bytes, rng: Rng) -> bytes:
    """Change a byte, more often one near the beginning, where headers are."""
    place = int(rng.integers(min(len(data), pick(rng, (32, 200, len(data))))))
    value = pick(rng, (0, 1, 0x7F, 0x80, 0xFF, data[place] ^ 1 << int(rng.integers(8))))
    return data[:place] + bytes([value]) + data[place + 1 :]


def a_cut(data: bytes, rng: Rng) -> bytes:
    """Lose the end."""
    return data[: int(rng.integers(len(data)))]


def a_piece(data: bytes, rng: Rng) -> bytes:
    """Lose, repeat, blank, move or double a piece."""
    start, length = int(rng.integers(len(data))), int(rng.integers(1, pick(rng, (9, 200, len(data) + 2))))
    before, piece, after = data[:start], data[start : start + length], data[start + length :]
    changed = (b"", piece * 2, piece * 50, bytes(len(piece)), b"\xff" * len(piece), piece[::-1])
    return pick(rng, (*[before + one + after for one in changed], piece + before + after))


def a_line(data: bytes, rng: Rng) -> bytes:
    """Lose, repeat or move a line, or end lines in another way."""
    lines = data.split(b"\n")
    place, other = (int(rng.integers(len(lines))) for _ in range(2))
    match rng.integers(5):
        case 0:
            del lines[place]
        case 1:
            lines.insert(other, lines[place])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case 3:
            lines[place] = (
                b" " * int(rng.integers(9)) + lines[place] + pick(rng, (b" ", b"\t", b"\r", b"#", b"\\"))
            )
        case _:
            return data.replace(b"\n", pick(rng, (b"\r\n", b"\r", b"\n\n", b"\0\n", b"\x0b\n", b" ")))
    return b"\n".join(lines)


def a_number(data: bytes, rng: Rng) -> bytes:
    """Replace a number, or all that are equal to it."""
    numbers = list(re.finditer(rb"-?\d[\d.e+-]*", data))
    if not numbers:
        return data
    number, value = pick(rng, numbers), pick(rng, NUMBERS)
    if rng.random() < 0.1:
        return data.replace(number[0], value)
    return data[: number.start()] + value + data[number.end() :]


NUMBERS = [
    *(b"0", b"-1", b"1", b"2", b"3", b"255", b"65536", b"2147483647", b"2147483648", b"-2147483649", b"4294967296"),
    *(b"18446744073709551616", b"9" * 400, b"9" * 5000, b"1e308", b"-1e308", b"1e309", b"1e-320", b"3.5e38", b"0.5"),
    *(b"nan", b"-inf", b"", b"-", b"1.", b".5", b"1e", b"0x1F", b"1_000", "\u0663".encode(), "\u00b2".encode(), b"1 2", b"24.0"),
]  # fmt: skip


def an_encoding(data: bytes, rng: Rng) -> bytes:
    """Encode a text in another way, with and without a mark."""
    text = data.decode("latin-1")
    match rng.integers(6):
        case 0:
            return text.encode(pick(rng, ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7")), "replace")
        case 1:
            return pick(rng, (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0", b"\n", b"\x1a")) + data
        case 2:
            return data + pick(rng, (b"\0" * 9, b"\x1a", b"\n" * 9, b"\xff", data[: len(data) // 2]))
        case 3:
            name = pick(rng, (b"UTF-16", b"GB2312", b"x", b"US-ASCII", b"", b"utf-8' standalone='no"))
            return data.replace(b'version="1.0"?', b"version='1.0' encoding='" + name + b"'?")
        case _:
            place = int(rng.integers(len(data)))
            return (
                data[:place]
                + pick(rng, (b"\xe9", b"\xc3\xa9", b"\0", b"\xed\xa0\x80", b"\x1b[2J"))
                + data[place:]
            )


# Models.


def make_model(rng: Rng) -> Input:
    """Return a model file."""
    data = pick(rng, list(good_models().values()))
    is_packed = data.startswith(b"\x1f\x8b")
    unpack = is_packed and rng.random() < 0.8
    data = gzip.decompress(data) if unpack else data
    accidents = (a_byte, a_cut, a_piece) if is_packed and not unpack else _MODEL_ACCIDENTS
    for _ in range(pick(rng, (1, 1, 1, 2, 3))):
        data = pick(rng, accidents)(data, rng) or b" "
    if unpack or rng.random() < 0.05:
        data = gzip.compress(data, 1, mtime=0)
    name = pick(
        rng,
        ("model.xml", "model.xml", "model.yml", "model.json", "model.xml.gz", "model.h", "mod\u00e8l 1.xml"),
    )
    return Input({name: data}, (name,))


@functools.cache
def good_models() -> dict[str, bytes]:
    """Return model files of every format, feature type and form, by name."""
    rng = np.random.default_rng(0)
    files = dict(model_files.good_files())
    face = Cascade.load(PROJECT / "models" / "frontalface.xml")
    xml = {
        "face": dump_cascade(first_stages(face, 2)),
        "old face": dump_cascade(first_stages(face, 2).with_metadata({}), "old"),
        "trees": dump_cascade(builders.random_cascade(rng, tilted_share=0.5, tree_share=0.7)),
        "lbp trees": dump_cascade(builders.random_cascade(rng, kind=FeatureType.LBP, tree_share=0.7)),
    }
    parameters = (
        b"<stageParams>\n    <boostType>GAB</boostType>\n    <minHitRate>9.9500000476837158e-01</minHitRate>"
    )
    xml["recorded"] = xml["trees"].replace(b"<stageParams>", parameters)
    files |= xml
    files["trees.yml"], files["face.json"] = (
        model_files.as_yaml(xml["trees"]),
        model_files.as_json(xml["face"]),
    )
    return files


def first_stages(cascade: Cascade, n: int) -> Cascade:
    """Return a model of the first `n` stages, with the features that they use."""
    n_trees = cascade.stage_starts[n]
    n_nodes = cascade.tree_starts[n_trees]
    nodes = cascade.nodes[:n_nodes].copy()
    used, nodes["feature"] = np.unique(nodes["feature"], return_inverse=True)
    return Cascade(
        cascade.window,
        cascade.features[used],
        nodes,
        cascade.tree_starts[: n_trees + 1],
        cascade.leaves[: n_nodes + n_trees],
        cascade.stage_starts[: n + 1],
        cascade.stage_thresholds[:n],
        {**cascade.metadata, "stages": cascade.metadata["stages"][:n]},
    )


def an_element(data: bytes, rng: Rng) -> bytes:
    """Lose, repeat or exchange whole elements of XML."""
    found = list(re.finditer(rb"<(\w+)>[^<]*</\1>|<_>(?:(?!<_>).)*?</_>", data, re.DOTALL))
    if not found:
        return data
    one, other = pick(rng, found), pick(rng, found)
    changed = (
        b"",
        one[0] * 2,
        one[0] * 1000,
        other[0],
        b"<_>" + one[0] + b"</_>",
        b"<a>" + one[0] + b"</a>",
        b"<_/>",
    )
    return data[: one.start()] + pick(rng, changed) + data[one.end() :]


def a_markup(data: bytes, rng: Rng) -> bytes:
    """Put a comment, a document type, an entity or deep nesting into it."""
    places = [match.end() for match in re.finditer(rb"[>\n]", data)] or [0]
    place = places[0] if rng.random() < 0.3 else pick(rng, places)
    return data[:place] + pick(rng, _MARKUP) + data[place:]


_MARKUP = [
    *(b"<!-- a -- b -->", b"<!--- a --->", b"<!-- \xe9 -->", b"<!--", b"-->", b"<!-->", b"/* a */", b"# a\n", b"<![CDATA[1]]>"),
    b'<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;&b;&b;&b;">]>',
    *(b'<!DOCTYPE a SYSTEM "file:///etc/passwd">', b"&b;", b"&#0;", b"&amp;", b"&#x110000;", b"&lt;_&gt;", b"<?php ?>"),
    *(b"<_>" * 5000, b"<_>" * 50 + b"</_>" * 50, b"[" * 5000, b"{" * 5000, b'{"a":' * 5000, b"- " * 5000),
    *(b'<a b="c"/>', b"<a/>", b"</_>", b"<x:y>1</x:y>", b"\0", b'"', b"'", b"'''", b": ", b"- ", b"\t", b" " * 100_000),
    *(b"*a ", b"&a 1", b"!!binary |", b"<<: *a", b"%YAML:1.0", b"---\n", b"...\n", b"\n", b"> ", b"| "),
]  # fmt: skip

_MODEL_ACCIDENTS: list[Callable[[bytes, Rng], bytes]] = [
    *[model_files.spoiled] * 6, *[a_number] * 5, *[an_element] * 3, *[a_line] * 2, a_byte, a_cut, a_piece, an_encoding, a_markup
]  # fmt: skip


# Lists.


def make_list(rng: Rng) -> Input:
    """Return a list and what it names."""
    kind = pick(rng, ("positives", "negatives"))
    forms = (
        (_boxes_form, _boxes_form, _bare_form, _header_form)
        if kind == "positives"
        else (_bare_form, _boxes_form)
    )
    folder = pick(rng, ("", "", "pos/", "./pos/"))
    lines = pick(rng, forms)(rng, folder)
    data = "\n".join(lines).encode() + b"\n"
    for _ in range(rng.integers(0, 4)):
        data = pick(rng, _LIST_ACCIDENTS)(data, rng)
    files = _listed_files() | dict([pick(rng, _ODD_FILES) for _ in range(rng.integers(0, 3))])
    name = ("pos/" if not folder else "") + pick(rng, ("info.dat", "bg.txt", "positives.txt", "a list"))
    return Input(files | {name: data}, (kind, name))


@functools.cache
def _listed_files() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    return {f"pos/{name}": picture_file(builders.smooth_noise(rng, 30, 40), "PNG") for name in _NAMES}


_NAMES = (
    "0.png",
    "1.png",
    "2.png",
    "has blank.png",
    "4 1.png",
    "\u00e9.png",
    *(f"{i}.png" for i in range(10, 17)),
)

_ODD_FILES: list[tuple[str, bytes]] = [
    *[("pos/1.png", content) for content in (b"", b"no picture", FOLDER, LINK + b"1.png", LINK + b"gone", LINK + b"0.png", LINK + b"..")],
    *[(f"pos/{name}", FOLDER) for name in ("3.png", "1", "info")],
    *[(f"pos/{name}", LINK + b".") for name in ("5.png", "circle")],
]  # fmt: skip


def _boxes_form(rng: Rng, folder: str) -> list[str]:
    return [f"{folder}{name} 2 {_box(rng)} {_box(rng)}" for name in _NAMES]


def _box(rng: Rng) -> str:
    x, y = int(rng.integers(0, 10)), int(rng.integers(0, 5))
    return f"{x} {y} {int(rng.integers(12, 32))} {int(rng.integers(12, 27))}"


def _bare_form(_: Rng, folder: str) -> list[str]:
    return [f"{folder}{name}" for name in _NAMES]


def _header_form(rng: Rng, folder: str) -> list[str]:
    separator = pick(rng, (",", ";", "\t", ", "))
    return [
        separator.join(("filename", "count", "x", "y", "w", "h")),
        *(f"{folder}{name} 1 {_box(rng)}".replace(" ", separator) for name in _NAMES),
    ]


def a_word(data: bytes, rng: Rng) -> bytes:
    """Replace, quote or double a word of a list, or put something before or behind it."""
    words = list(re.finditer(rb"[^\s,;]+", data))
    if not words:
        return data
    word = pick(rng, words)
    changed = pick(
        rng,
        (
            b'"' + word[0] + b'"',
            b"'" + word[0],
            b'""',
            word[0] + b",",
            b"[" + word[0] + b"]",
            word[0] * 2,
            *_WORDS,
        ),
    )
    return data[: word.start()] + changed + data[word.end() :]


_WORDS = [
    *(b"gone.png", b"pos", b".", b"..", b"/", b"~", b"-", b"*", b"%s", b"C:\\a.png", b"\\pos\\0.png", b"pos\\0.png", b"//0.png"),
    *(b"../pos/0.png", b"a" * 300, b"a/" * 3000, b"\0", b"0.png\0.png", b"info.dat", b"https://host/a.png", b"/dev/null", b"/dev/tty"),
    *(b"0.png1", b"#", b"#0.png", b"\xff.png", b"e\xcc\x81.png", b"\x1b[31m.png", b"0.PNG", b"0.png 0", b"0.png 1 -5 -5 20 20"),
    *(b"0.png 1 0 0 9999 9999", b"0.png 1 0 0 0 0", b"0.png 999999999", b"0.png 1 39 29 1 1", b"0.png -1", b"0.png 1 0 0 -9 -9"),
]  # fmt: skip

_LIST_ACCIDENTS: list[Callable[[bytes, Rng], bytes]] = [
    *[a_number] * 4, *[a_word] * 6, *[a_line] * 2, lambda data, rng: a_byte(data or b" ", rng),
    lambda data, rng: a_cut(data or b" ", rng), lambda data, rng: an_encoding(data or b" ", rng),
    lambda data, rng: a_piece(data or b" ", rng),
]  # fmt: skip


# Pictures.


def make_picture(rng: Rng) -> Input:
    """Return a picture file, at times under the name of another format."""
    name, data = pick(rng, list(good_pictures().items()))
    own = {"PNG": _a_chunk, "JPEG": _a_segment}.get(name.split()[0], a_byte)
    for _ in range(pick(rng, (1, 1, 1, 2, 3))):
        data = pick(rng, (own, own, own, a_byte, a_byte, a_field, a_cut, a_piece))(data, rng) or b" "
    suffix = pick(rng, ("png", "jpg", "gif", "tif", "bmp", "webp", "pgm"))
    return Input({f"picture.{suffix}": data}, (f"picture.{suffix}",))


@functools.cache
def good_pictures() -> dict[str, bytes]:
    """Return pictures of every format and pixel type that is read, by names that begin with the format."""
    rng = np.random.default_rng(0)
    grey = Image.fromarray(builders.smooth_noise(rng, 24, 33))
    colour = Image.fromarray(rng.integers(0, 256, (24, 33, 3), np.uint8))
    deep = rng.integers(0, 2**16, (24, 33), np.uint16)
    images = {
        mode: (grey if mode in "L1" else colour).convert(mode)
        for mode in ("L", "1", "RGB", "RGBA", "LA", "P", "CMYK")
    }
    exif = Image.Exif()
    exif[274], exif[270] = 6, "a picture"
    kinds: list[tuple[str, Sequence[str], dict[str, Any]]] = [
        ("PNG", ("L", "1", "RGB", "RGBA", "LA", "P"), {"exif": exif}),
        ("PNG", ("P", "L"), {"transparency": 3}),
        ("JPEG", ("L", "RGB", "CMYK"), {"exif": exif}),
        ("JPEG", ("RGB",), {"progressive": True, "restart_marker_blocks": 2}),
        ("GIF", ("P", "L"), {"transparency": 0, "interlace": 1}),
        ("TIFF", ("L", "RGB", "CMYK", "P", "1"), {"exif": exif}),
        *[("TIFF", ("RGB", "1"), {"compression": one}) for one in ("tiff_lzw", "tiff_adobe_deflate", "packbits")],
        ("TIFF", ("1",), {"compression": "group4"}),
        ("TIFF", ("RGB",), {"compression": "jpeg"}),
        ("BMP", ("L", "1", "RGB", "RGBA", "P"), {}),
        ("WEBP", ("RGB", "RGBA"), {"exif": exif}),
        ("WEBP", ("RGBA",), {"lossless": True}),
        ("PPM", ("L", "1", "RGB"), {}),
    ]  # fmt: skip
    files = {
        f"{kind} {mode} {i}": picture_files.pillow(images[mode], kind, **options)
        for i, (kind, modes, options) in enumerate(kinds)
        for mode in modes
    }
    frames = {"save_all": True, "append_images": [grey.convert("P"), grey.convert("P")]}
    return files | {
        "GIF frames": picture_files.pillow(images["P"], "GIF", **frames),
        "WEBP frames": picture_files.pillow(colour, "WEBP", **frames),
        "PNG deep": picture_files.png(deep, 0),
        "PNG deep colour": picture_files.png(np.dstack([deep] * 3), 2),
        "PNG deep alpha": picture_files.png(np.dstack([deep] * 4), 6),
        "TIFF deep": picture_files.tiff(deep),
        "TIFF deep colour": picture_files.tiff(np.dstack([deep] * 3), photometric="rgb"),
        "TIFF float": picture_files.tiff(deep.astype(np.float32)),
        "TIFF tiles": picture_files.tiff(np.dstack([deep] * 3) >> 8, photometric="rgb", tile=(16, 16)),
        "TIFF big": picture_files.tiff(deep.astype(np.uint8), bigtiff=True),
        "PPM deep": picture_files.netpbm("P5", deep),
        "PPM deep colour": picture_files.netpbm("P6", np.dstack([deep] * 3)),
        "PPM text": b"P2\n# a\n3 2\n15\n" + b"1 2 3\n4 5 6\n",
        "PPM bits": b"P1\n3 2\n1 0 1\n0 1 0\n",
    }


def picture_file(pixels: np.ndarray, kind: str) -> bytes:
    return picture_files.pillow(Image.fromarray(pixels), kind)


def a_field(data: bytes, rng: Rng) -> bytes:
    """Write an extreme number of two or four bytes over a place near the beginning."""
    form = pick(rng, ("<H", ">H", "<I", ">I"))
    most = 2 ** (8 * struct.calcsize(form)) - 1
    number = struct.pack(
        form, min(most, pick(rng, (0, 1, 2, 13_377, 20_000, 65_535, 2**31 - 1, 2**31, 2**32 - 1)))
    )
    place = int(rng.integers(pick(rng, (40, 40, len(data) + 1))))
    return data[:place] + number + data[place + len(number) :]


def _a_chunk(data: bytes, rng: Rng) -> bytes:
    """Change, empty, repeat, rename or move a chunk of a PNG, and mend its checksum."""
    chunks, place = [], 8
    while place + 12 <= len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        chunks.append((data[place + 4 : place + 8], data[place + 8 : place + 8 + length]))
        place += 12 + length
    if not chunks:
        return data
    i = 0 if rng.random() < 0.5 else int(rng.integers(len(chunks)))
    kind, content = chunks[i]
    exif = b"MM\0*\0\0\0\x08" + bytes(rng.integers(0, 256, 20, np.uint8))
    match rng.integers(7):
        case 0 | 1:
            chunks[i] = kind, pick(rng, (a_byte, a_field))(content or b" ", rng)
        case 2:
            chunks[i] = kind, b""
        case 3:
            chunks.insert(int(rng.integers(len(chunks))), chunks[i])
        case 4:
            chunks[i] = pick(rng, (b"IDAT", b"PLTE", b"tRNS", b"eXIf", b"acTL", b"IEND", b"abcd")), content
        case 5:
            texts = (b"a\0\0" + zlib.compress(bytes(pick(rng, (9, 10**7)))), exif, b"")
            chunks.insert(
                1,
                (
                    pick(
                        rng, (b"zTXt", b"iCCP", b"eXIf", b"tEXt", b"iTXt", b"acTL", b"fcTL", b"PLTE", b"tRNS")
                    ),
                    pick(rng, texts),
                ),
            )
        case _:
            chunks = [(name, part) for name, part in chunks if name != kind]
    return data[:8] + b"".join(picture_files.chunk(*one) for one in chunks)


def _a_segment(data: bytes, rng: Rng) -> bytes:
    """Change the length or the content of a segment of a JPEG, or put garbage in as EXIF."""
    if rng.random() < 0.3:
        body = (
            b"Exif\0\0"
            + pick(rng, (b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08", b""))
            + bytes(rng.integers(0, 256, 40, np.uint8))
        )
        return data[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + data[2:]
    segments = [match.start() for match in re.finditer(rb"\xff[\xc0-\xfe]", data)] or [0]
    place = pick(rng, segments[:20]) + int(rng.integers(1, 12))
    return data[:place] + bytes([pick(rng, (0, 1, 2, 255, int(rng.integers(256))))]) + data[place + 1 :]
