"""Picture files: every kind read by one set of rules, or refused with a reason; and written."""

from __future__ import annotations

import ctypes
import functools
import io
import logging
import math
import os
import re
import struct
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ImageError, StorageError
from vjcascade.files import write_atomic
from vjcascade.imaging.arrays import MID_GREY, over_mid_grey, to_8_bit, to_gray
from vjcascade.parallel import blocks
from vjcascade.storage.stored import File, StoredFile
from vjcascade.types import Size

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 178_956_970
"""Default limit on the pixels of a picture file: Pillow refuses larger ones whatever its callers ask for."""

_SUFFIXES = {  # in the order in which the formats are tried
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "BMP": (".bmp",),
    "PPM": (".ppm", ".pgm", ".pbm", ".pnm"),
    "GIF": (".gif",),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
}

IMAGE_SUFFIXES = frozenset(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes)
"""Lower-case suffixes of the picture files that can be read."""

_BYTES_A_PIXEL = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2}
"""What Pillow takes for a pixel in memory, by mode; 4 in all others."""

_BAND = 2**20
"""Pixels that are brought to grey levels at a time: the other forms of them take several bytes each."""

_BYTES_IN_BAND = 40
"""What a pixel of a band takes in all its forms, at most."""

AnyFile = str | os.PathLike[str] | StoredFile
"""A file in a folder, in an archive or at an address."""

_WRITABLE = {suffix: name for name, suffixes in _SUFFIXES.items() if name != "GIF" for suffix in suffixes}


def read_image(path: AnyFile, *, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """Read a picture file: JPEG, PNG, BMP, TIFF, WebP, PGM, PPM, PBM, or the first frame of a GIF.

    The content decides the format, not the name. EXIF orientation is applied. May be called from several
    threads; decoding releases the GIL. Warnings of Pillow are silenced, from the first call on and in the whole
    process.

    Parameters
    ----------
    path : path-like or StoredFile
        The file.
    max_pixels : int
        Larger pictures are refused before they are decoded.

    Returns
    -------
    ndarray of shape (height, width) or (height, width, 3), dtype uint8
        Grey, or RGB.

    Raises
    ------
    ImageError
        If the file cannot be opened, is cut off, damaged, too large or no picture, or holds 32-bit numbers.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_image(f"{folder}/a.png", np.full((2, 3), 7, np.uint8))
    ...     read_image(f"{folder}/a.png")
    array([[7, 7, 7],
           [7, 7, 7]], dtype=uint8)
    """
    return np.require(_decoded(path, max_pixels)[0], requirements="W")


def read_gray(path: AnyFile, *, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """Read a picture file as grey levels: `to_gray(read_image(path))`.

    Parameters
    ----------
    path : path-like or StoredFile
        The file.
    max_pixels : int
        Larger pictures are refused before they are decoded.

    Returns
    -------
    ndarray of shape (height, width), dtype uint8
        Grey levels 0-255.

    Raises
    ------
    ImageError
        As `read_image`.

    Examples
    --------
    >>> write_image("a.png", np.zeros((40, 50), np.uint8))
    >>> read_gray("a.png").shape
    (40, 50)
    """
    return _decoded_gray(path, max_pixels)[0]


def read_upright(path: AnyFile) -> tuple[NDArray[np.uint8], bool]:
    """Read a picture file as `read_gray` does, and tell whether its EXIF orientation turned or mirrored it.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    gray : ndarray of shape (height, width), dtype uint8
        Grey levels 0-255.
    is_turned : bool
        Whether its rows are not those of the file.

    Raises
    ------
    ImageError
        As `read_image`.

    Examples
    --------
    >>> write_image("a.png", np.zeros((40, 50), np.uint8))
    >>> pixels, is_turned = read_upright("a.png")
    >>> pixels.shape, is_turned
    ((40, 50), False)
    """
    gray, orientation = _decoded_gray(path, MAX_PIXELS)
    return gray, orientation != 1


def read_cutout(path: AnyFile) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read a picture file as grey levels and how opaque they are; unlike in `read_gray`, nothing is laid over grey.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    gray : ndarray of shape (height, width), dtype uint8
        Grey levels, also where nothing is seen of them.
    opacity : ndarray of shape (height, width), dtype uint8
        From 0, transparent, to 255; 255 everywhere in pictures without transparency.

    Raises
    ------
    ImageError
        As `read_image`.

    Examples
    --------
    >>> from PIL import Image
    >>> Image.fromarray(np.array([[[9, 0], [8, 255]]], np.uint8), "LA").save("logo.png")
    >>> read_cutout("logo.png")
    (array([[9, 8]], dtype=uint8), array([[  0, 255]], dtype=uint8))
    """
    with _loaded(_at_hand(path), MAX_PIXELS) as picture:
        orientation = _orientation(picture)
        if picture.has_transparency_data and not picture.mode.startswith("I;16"):
            is_gray = picture.mode in ("1", "L", "LA", "La")
            layers = np.asarray(picture.convert("LA" if is_gray else "RGBA"))
            gray, opacity = to_gray(np.ascontiguousarray(layers[:, :, :-1])), layers[:, :, -1]
        else:
            gray = to_gray(_pixels(picture, picture.format))
            opacity = np.full(gray.shape, 255, np.uint8)
        return np.require(_upright(gray, orientation), requirements="W"), _upright(opacity, orientation)


def read_reduced(path: AnyFile, side: int) -> NDArray[np.uint8]:
    """Read a picture file for people to look at: upright, and not much larger than it is shown, as quickly as can be.

    JPEG files are reduced while they are decoded, which takes a tenth of the time. Pixels are not those that
    `read_image` and a resize would give.

    Parameters
    ----------
    path : path-like
        The file.
    side : int
        Pixels of the longer side that are enough, at least 1.

    Returns
    -------
    ndarray of shape (height, width) or (height, width, 3), dtype uint8
        Grey levels or RGB, may be read-only. The longer side has at least `side` pixels where the file has them, and
        less than twice as many.

    Raises
    ------
    ImageError
        As `read_image`.

    Examples
    --------
    >>> write_image("large.png", np.zeros((600, 800), np.uint8))
    >>> read_reduced("large.png", 80).shape
    (60, 80)
    """
    from PIL import Image

    path = _at_hand(path)
    with _opened(path, MAX_PIXELS) as picture:
        reduced = _reduced_jpeg(path, side) if picture.format == "JPEG" else None
        if reduced is not None:
            return _upright(reduced, _orientation(picture))
    pixels = read_image(path)
    factor = max(pixels.shape[:2]) // side
    return pixels if factor < 2 else np.asarray(Image.fromarray(pixels).reduce(factor))


def _reduced_jpeg(path: File, side: int) -> NDArray[np.uint8] | None:
    """Return the pixels of a JPEG file as they are stored; None of one that is odd in any way."""
    from simplejpeg import decode_jpeg, decode_jpeg_header

    data = path.read_bytes()
    try:
        height, width, colours, _ = decode_jpeg_header(data)
        if colours not in {"Gray", "YCbCr", "RGB"}:
            return None
        share = min(side / max(height, width), 1.0)
        least = {"min_width": math.ceil(width * share), "min_height": math.ceil(height * share)}
        kind = "GRAY" if colours == "Gray" else "RGB"
        pixels: NDArray[np.uint8] = decode_jpeg(data, kind, fastdct=True, min_factor=1, **least)
    except ValueError:
        return None
    return pixels[:, :, 0] if kind == "GRAY" else pixels


def as_jpeg(image: NDArray[np.uint8], quality: int = 85) -> bytes:
    """Return a picture as a JPEG file.

    Parameters
    ----------
    image : ndarray of shape (height, width) or (height, width, 3), dtype uint8
        Grey levels or RGB.
    quality : int
        1 to 100.

    Returns
    -------
    bytes
        The file.

    Examples
    --------
    >>> as_jpeg(np.zeros((8, 8), np.uint8))[6:10]
    b'JFIF'
    """
    from simplejpeg import encode_jpeg

    is_gray = image.ndim == 2
    pixels = np.ascontiguousarray(image[:, :, np.newaxis] if is_gray else image)
    encoded: bytes = encode_jpeg(pixels, quality, "GRAY" if is_gray else "RGB", "420")
    return encoded


def through_jpeg(gray: NDArray[np.uint8], quality: int) -> NDArray[np.uint8]:
    """Return what is left of a grey picture after it was saved as JPEG.

    Parameters
    ----------
    gray : ndarray of shape (h, w), dtype uint8
        Grey levels.
    quality : int
        From 1 to 100.

    Returns
    -------
    ndarray of shape (h, w), dtype uint8
        Grey levels.

    Examples
    --------
    >>> through_jpeg(np.full((8, 8), 77, np.uint8), 90)[0, 0]
    np.uint8(77)
    """
    from PIL import Image

    encoded = io.BytesIO()
    Image.fromarray(gray).save(encoded, "JPEG", quality=quality)
    with Image.open(encoded) as picture:
        return np.array(picture)


def decoding_memory(path: AnyFile) -> int:
    """Return how many bytes of memory `read_gray` needs for a picture, the result included, from the header alone.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    int
        Bytes, at most.

    Raises
    ------
    ImageError
        If the file cannot be opened or its header is not that of a picture.

    Examples
    --------
    >>> write_image("a.png", np.zeros((40, 50), np.uint8))
    >>> decoding_memory("a.png") > 0
    True
    """
    with _opened(_at_hand(path), MAX_PIXELS) as picture:
        n_pixels = picture.width * picture.height
        a_pixel = _BYTES_A_PIXEL.get(picture.mode, 4) + 1 + (_orientation(picture) != 1)
        if picture.format == "WEBP":  # whole frames, before Pillow copies one
            a_pixel += 12
        if picture.info.get("progressive"):  # coefficients of all components, 16 bits each
            a_pixel += 6
        return n_pixels * a_pixel + _BYTES_IN_BAND * min(n_pixels, _BAND)


def image_size(path: AnyFile) -> Size:
    """Return the size that `read_image` will give; only a PNG with EXIF behind its pixels is decoded for it.

    Raises
    ------
    ImageError
        If the file cannot be opened or its header is not that of a picture.

    Examples
    --------
    >>> write_image("a.png", np.zeros((40, 50), np.uint8))
    >>> image_size("a.png")
    Size(width=50, height=40)
    """
    return image_header(path)[0]


def image_header(path: AnyFile) -> tuple[Size, int]:
    """Return the size that `read_image` will give, and the EXIF orientation that it will have applied, 1 for none.

    Raises
    ------
    ImageError
        As `image_size`.

    Examples
    --------
    >>> write_image("a.png", np.zeros((40, 50), np.uint8))
    >>> image_header("a.png")
    (Size(width=50, height=40), 1)
    """
    with _opened(_at_hand(path), MAX_PIXELS) as picture:
        if picture.format == "PNG" and _has_late_exif(picture):
            picture.load()  # finds it
        orientation = _orientation(picture)
        width, height = picture.size
        size = Size(height, width) if orientation in (5, 6, 7, 8) else Size(width, height)
        return size, _tiff_orientation(picture) if picture.format == "TIFF" else orientation


def write_image(path: str | os.PathLike[str], image: NDArray[np.uint8]) -> None:
    """Write a picture file, whole or not at all; the suffix decides the format.

    Parameters
    ----------
    path : path-like
        Lossless as PNG, BMP, TIFF, PGM or PPM; JPEG and WebP are written with quality 95.
    image : ndarray of shape (h, w) or (h, w, 3), dtype uint8
        Grey or RGB.

    Raises
    ------
    ImageError
        If the suffix or the picture's shape is not one of these.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> write_image("a.png", np.zeros((40, 50), np.uint8))
    >>> read_gray("a.png").shape
    (40, 50)
    """
    from PIL import Image

    path = Path(path)
    name = _WRITABLE.get(path.suffix.lower())
    if name is None:
        raise ImageError(
            f"{path}: pictures cannot be written with this suffix; use one of {' '.join(_WRITABLE)}"
        )
    encoded = io.BytesIO()
    Image.fromarray(to_8_bit(image)).save(encoded, name, quality=95)
    write_atomic(path, encoded.getvalue())


def _at_hand(path: AnyFile) -> File:
    """Return a file that can be opened several times: one in an archive or at an address is fetched once."""
    return path.fetched() if isinstance(path, StoredFile) else Path(path)


def _decoded(path: AnyFile, max_pixels: int) -> tuple[NDArray[np.uint8], int]:
    """Read a picture file into an array that may be read-only: a copy costs as much as half the decoding.

    Returned as well is the EXIF orientation that was applied, 1 for none.
    """
    with _loaded(_at_hand(path), max_pixels) as picture:
        orientation = _orientation(picture)
        return _upright(_pixels(picture, picture.format), orientation), orientation


def _decoded_gray(path: AnyFile, max_pixels: int) -> tuple[NDArray[np.uint8], int]:
    """Read a picture file as writable grey levels, a band after the other; see `_decoded`."""
    with _loaded(_at_hand(path), max_pixels) as picture:
        orientation = _orientation(picture)
        width, height = picture.size
        bands = blocks(height, max(_BAND // width, 1))
        if len(bands) == 1:
            gray = to_gray(_pixels(picture, picture.format))
        else:
            gray = np.empty((height, width), np.uint8)
            for rows in bands:
                band = picture.crop((0, rows.start, width, rows.stop))
                gray[rows] = to_gray(_pixels(band, picture.format))
        return np.require(_upright(gray, orientation), requirements="W"), orientation


@contextmanager
def _loaded(path: File, max_pixels: int) -> Iterator[Image.Image]:
    """Yield a picture as `_opened` does, decoded: TIFFs are upright then, and EXIF behind the pixels is found."""
    with _opened(path, max_pixels) as picture:
        if picture.format == "JPEG":
            _refuse_incomplete_jpeg(path)
        if picture.format == "PPM":
            _keep_high_bytes(picture)
        if picture.mode == "F" or (picture.mode == "I" and picture.format != "PPM"):
            raise ImageError("32-bit numbers have no fixed white; save the picture with 8 or 16 bits")
        picture.load()
        yield picture


_INCOMPLETE = re.compile(
    "premature end|bad huffman code|found marker|bytes before marker 0xd[0-7]", re.IGNORECASE
)
"""Warnings with which libjpeg fills up what is missing; others, as of bytes too many before the end, do no harm."""


def _refuse_incomplete_jpeg(path: File) -> None:
    """Refuse a JPEG of which a part is missing.

    Pillow and OpenCV decode it without a word where its end mark is there: the rest is grey. simplejpeg hands on
    what the decoder warns of (0.4 ms for 640x480 pixels, a quarter of the time that Pillow takes).
    """
    data = path.read_bytes()
    warning = _first_warning_of_jpeg(data)
    if warning and not _INCOMPLETE.search(warning):
        warning = _first_warning_of_jpeg(
            _without_oddities(data)
        )  # a harmless one may have hidden what follows
    if _INCOMPLETE.search(warning):
        raise ImageError(
            f"a part of the picture is missing or cut off ({warning}): it would be grey; replace the file"
        )


def _first_warning_of_jpeg(data: bytes) -> str:
    from simplejpeg import decode_jpeg

    try:
        decode_jpeg(data, colorspace="GRAY", fastdct=True, strict=True)
    except ValueError as error:
        return str(error)
    return ""


def _without_oddities(data: bytes) -> bytes:
    """Leave out what libjpeg warns of before a JPEG's pixels: bytes between segments, versions, colour transforms."""
    kept, place = [data[:2]], 2
    while (place := data.find(b"\xff", place)) >= 0 and place + 4 <= len(data):
        code = data[place + 1]
        if code in {
            0x00,
            0x01,
            0xFF,
            *range(0xD0, 0xD9),
        }:  # no segment: what follows is searched for the next one
            place += 1
            continue
        if code == 0xDA:  # the pixels
            return b"".join([*kept, data[place:]])
        end = place + 2 + int.from_bytes(data[place + 2 : place + 4])
        if not (0xE0 <= code <= 0xEF or code == 0xFE):  # pixels are decoded without what programs note
            kept.append(data[place:end])
        place = end
    return data


_PILLOW = re.compile(r"PIL\.")
_filtering = threading.Lock()
_SILENT = logging.NullHandler()


def _silence_pillow() -> None:
    """Ignore warnings that arise in Pillow's own modules (bad EXIF, odd palettes, large pictures), and what it logs.

    For the whole process, because `warnings.catch_warnings` swaps its filters anyway: two threads that overlap in
    it undo each other's, for good. The filter is put first again where another one has been put before it.
    """
    logging.getLogger("PIL").addHandler(_SILENT)
    with _filtering:
        if [module for _, _, _, module, _ in warnings.filters[:1]] != [_PILLOW]:
            warnings.filterwarnings("ignore", module=_PILLOW.pattern)


@functools.cache
def _silence_libtiff() -> None:
    """Keep libtiff, which Pillow uses, from printing what is wrong with a file: Pillow raises, and we say it.

    On Windows, where it is a hidden part of Pillow, it cannot be told.
    """
    from PIL import _imaging

    with suppress(OSError, AttributeError):
        ctypes.CDLL(_imaging.__file__).TIFFSetErrorHandler(None)


@contextmanager
def _opened(path: File, max_pixels: int) -> Iterator[Image.Image]:
    """Yield a picture whose header has been read; all that Pillow raises until it is closed is an ImageError.

    Pillow gets an open file, because it maps files given by path into memory, and one that shrinks meanwhile
    would kill the process.
    """
    from PIL import Image

    _silence_pillow()
    try:
        _refuse_special(path)
        with path.open("rb") as file:
            _refuse_empty(file)
            with Image.open(file, formats=tuple(_SUFFIXES)) as picture:
                _check_header(picture, max_pixels)
                yield picture
    except StorageError:
        raise
    except Exception as error:  # decoders raise OSError, SyntaxError, ValueError, struct.error and more
        raise ImageError(f"{path}: {_reason(error, path)}") from error


def _refuse_special(path: File) -> None:
    """Refuse pipes and devices: reading them may never end."""
    if isinstance(path, Path) and path.exists() and not (path.is_file() or path.is_dir()):
        raise ImageError("it is not a regular file; remove it or copy its contents into a file")


def _refuse_empty(file: io.BufferedReader) -> None:
    if not file.peek(1):
        raise ImageError("the file is empty; remove or replace it")


def _check_header(picture: Image.Image, max_pixels: int) -> None:
    width, height = picture.size
    if width * height > max_pixels:
        raise ImageError(
            f"{width}x{height} pixels are over the limit of {max_pixels}; make it smaller or raise the limit"
        )
    if picture.format == "TIFF":
        _silence_libtiff()
        _refuse_misread_tiff(picture)
    _refuse_unfilled(picture)


DEFLATE_RATIO = 1032
"""A byte of a PNG unpacks to so many at most."""


def _refuse_unfilled(picture: Image.Image) -> None:
    """Refuse a header that claims more pixels than the file can have: Pillow would take seconds to make them black."""
    n_pixels = picture.size[0] * picture.size[1]
    if picture.format == "PNG":
        n_bands = len(picture.getbands())
        bits = 1 if n_bands == 1 else 8 * n_bands  # at least
        n_bytes = _size_of(picture.fp)  # type: ignore[attr-defined]
        is_unfilled = n_pixels * bits > 8 * DEFLATE_RATIO * n_bytes
    else:
        tiles = (tile.extents for tile in picture.tile)  # type: ignore[attr-defined]
        areas = ((right - left) * (bottom - top) for left, top, right, bottom in tiles)
        is_unfilled = picture.format == "TIFF" and sum(areas) < n_pixels
    if is_unfilled:
        width, height = picture.size
        raise ImageError(
            f"its header claims {width}x{height} pixels, but the file has fewer; replace the file"
        )


def _size_of(file: io.BufferedReader) -> int:
    place = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(place)
    return size


def _refuse_misread_tiff(picture: Image.Image) -> None:
    """Refuse the deep TIFFs that Pillow (seen in 13.0) decodes to wrong values without a word."""
    tags = picture.tag_v2  # type: ignore[attr-defined]
    bits, white_is_zero, separate = tags.get(258, (1,)), tags.get(262) == 0, tags.get(284) == 2
    if max(bits) > 8 and (max(bits) < 16 or white_is_zero or (separate and len(bits) > 1)):
        raise ImageError(
            f"a {max(bits)}-bit TIFF with packed samples, separate planes or white as zero is not supported; "
            "save it with 8 bits, or as PNG"
        )


def _reason(error: Exception, path: File) -> str:
    """Say in words what is wrong with a picture file and what to do."""
    from PIL import Image, UnidentifiedImageError

    if isinstance(error, ImageError):
        return str(error)
    if isinstance(error, UnidentifiedImageError):
        return f"{_unreadable_kind(path)}; readable are {', '.join(_SUFFIXES)}"
    if isinstance(error, Image.DecompressionBombError):
        return f"more than {MAX_PIXELS} pixels cannot be read; make it smaller"
    if isinstance(error, MemoryError):
        return "there is not enough memory for so large a picture; make it smaller"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be opened ({error.strerror.lower()}); check the path"
    detail = f" ({error})" if str(error) else ""  # what Pillow asserts has no words
    return f"the picture is damaged or cut off{detail}; replace it, or save it again as PNG"


def _unreadable_kind(path: File) -> str:
    """Say what a file is that Pillow cannot tell, by its first bytes."""
    with path.open("rb") as file:
        start = file.read(16)
    if start[4:8] == b"ftyp" and start[8:12] in _BRANDS:
        return f"this is {_BRANDS[start[8:12]]}, which is not supported: save it as JPEG or PNG"
    return "this is not a picture, or its header is damaged or cut off"


_BRANDS = {
    b"avif": "an AVIF picture",
    b"avis": "an AVIF picture",
    b"heic": "a HEIC picture",
    b"mif1": "a HEIF picture",
}
"""Kinds of pictures by the brand in their first bytes."""


def _orientation(picture: Image.Image) -> int:
    """Return the EXIF orientation still to be applied, 1 to 8; 1 where EXIF is absent or broken."""
    from PIL import Image

    if picture.format == "TIFF":  # Pillow turns these itself
        return 1
    try:
        # The base class's method, because the one of PNG decodes the whole picture to find EXIF behind it.
        orientation = int(Image.Image.getexif(picture).get(274, 1))
    except Exception:  # broken EXIF raises anything, and is no reason to refuse the pixels
        return 1
    return orientation if 1 <= orientation <= 8 else 1


def _tiff_orientation(picture: Image.Image) -> int:
    """Return the orientation that Pillow applies to a TIFF by itself."""
    orientation = picture.tag_v2.get(274, 1)  # type: ignore[attr-defined]
    return orientation if orientation in range(1, 9) else 1


def _has_late_exif(picture: Image.Image) -> bool:
    """Tell whether a PNG has EXIF behind its pixels: it counts in place of any before, and Pillow has not read it."""
    file = picture.fp  # type: ignore[attr-defined]
    place, is_behind = file.tell(), False
    try:
        file.seek(8)
        while len(head := file.read(8)) == 8:
            length, kind = struct.unpack(">I4s", head)
            is_behind |= kind == b"IDAT"
            if is_behind and kind == b"eXIf":
                return True
            file.seek(length + 4, os.SEEK_CUR)
        return False
    finally:
        file.seek(place)


def _upright(pixels: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def _pixels(picture: Image.Image, format_: str | None) -> NDArray[np.uint8]:
    """Decode a picture, or a band of it, to grey or RGB."""
    if picture.mode.startswith("I;16") or (picture.mode == "I" and format_ == "PPM"):
        return _high_bytes(picture)
    gray = picture.mode in ("1", "L", "LA", "La")
    if picture.has_transparency_data:
        return over_mid_grey(np.asarray(picture.convert("LA" if gray else "RGBA")))
    return np.asarray(picture.convert("L" if gray else "RGB"))


def _keep_high_bytes(picture: Image.Image) -> None:
    """Make Pillow read a 16-bit colour PPM by our rule for depth: by itself it rounds."""
    (tile,) = picture.tile  # type: ignore[attr-defined]
    if tile.args == ("RGB", 65535) and tile.codec_name == "ppm":
        picture.tile = [tile._replace(codec_name="raw", args="RGB;16B")]  # type: ignore[attr-defined]


def _high_bytes(picture: Image.Image) -> NDArray[np.uint8]:
    values = np.asarray(picture)
    gray = (values >> 8).astype(np.uint8)
    if "transparency" in picture.info:  # PNG: this one value is transparent
        gray[values == picture.info["transparency"]] = MID_GREY
    return gray
