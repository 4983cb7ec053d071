"""Picture files that are cut off, damaged, too large or none; Pillow's warnings."""

import io
import os
import struct
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from picture_files import chunk, pillow, png, stored, tiff
from PIL import Image

import vjcascade
from vjcascade import imaging
from vjcascade.errors import CascadeError, ImageError
from vjcascade.imaging import image_size, read_gray, read_image

PROJECT = Path(vjcascade.__file__).parents[1]

# ---- warnings ----


BROKEN_EXIF_JPEG = pillow(Image.new("L", (64, 64), 7), "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x09\x01")


def test_the_picture_of_these_tests_makes_pillow_warn():
    with pytest.warns(UserWarning, match="EXIF"):
        Image.open(io.BytesIO(BROKEN_EXIF_JPEG)).load()


def test_threads_silence_pillow_and_nothing_else(tmp_path):
    path = stored(tmp_path, BROKEN_EXIF_JPEG)
    with ThreadPoolExecutor(4) as pool, warnings.catch_warnings():
        warnings.simplefilter("error")
        results = [pool.submit(read_gray, path) for _ in range(100)]
        for _ in range(100):
            with pytest.raises(UserWarning, match="mine"):
                warnings.warn("mine", stacklevel=1)
        assert all((result.result() == 7).all() for result in results)
    with pytest.warns(UserWarning, match="mine"):
        warnings.warn("mine", stacklevel=1)


@pytest.mark.parametrize("flags", [["-W", "error"], ["-W", "always"]])
def test_interpreter_with_warning_flags_stays_silent(tmp_path, flags):
    path = stored(tmp_path, BROKEN_EXIF_JPEG)
    program = "import sys; from vjcascade.imaging import read_image; print(read_image(sys.argv[1]).max())"
    command = [sys.executable, *flags, "-c", program, path]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROJECT)
    assert (run.stdout, run.stderr) == ("7\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="libtiff cannot be told")
@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_adobe_deflate", "group4", "jpeg"])
def test_libtiff_stays_silent(tmp_path, capfd, compression):
    mode = "1" if compression == "group4" else "RGB"
    data = pillow(Image.effect_noise((40, 30), 90).convert(mode), "TIFF", compression=compression)
    for first in range(8, len(data), len(data) // 20):
        spoiled = data[:first] + b"\xff" * 9 + data[first + 9 :]
        with suppress(ImageError):
            read_image(stored(tmp_path, spoiled))
    assert capfd.readouterr() == ("", "")


# ---- refusals ----


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("PNG", {}),
        ("BMP", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("WEBP", {}),
        ("GIF", {}),
        ("PPM", {}),
    ],
)
def test_cut_files_are_refused(tmp_path, photo, kind, options):
    data = pillow(Image.fromarray(photo), kind, **options)
    for part in (0.02, 0.3, 0.5, 0.8, 0.95):
        path = stored(tmp_path, data[: int(part * len(data))], "cut.jpg")
        with pytest.raises(ImageError, match=r"cut\.jpg: .*(cut off|supported)"):
            read_gray(path)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "the file is empty", id="empty"),
        pytest.param(b"this is text", "not a picture", id="text"),
        pytest.param(b"BMx and text", "not a picture", id="text like BMP"),
        pytest.param(b"P5 two three 255\n", "damaged", id="text like PGM"),
        pytest.param(
            b"%!PS-Adobe-3.0 EPSF-3.0\n", "not a picture", id="a format that Pillow knows and we do not"
        ),
        pytest.param(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a picture", id="svg"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + bytes(40), "not a picture", id="PNG header only"),
    ],
)
def test_fake_files_are_refused(tmp_path, data, reason):
    path = stored(tmp_path, data, "fake.png")
    for read in (read_gray, read_image, image_size):
        with pytest.raises(ImageError, match=rf"fake\.png: .*{reason}"):
            read(path)


def test_a_damaged_byte_in_a_png_is_refused(tmp_path, photo):
    data = bytearray(pillow(Image.fromarray(photo), "PNG"))
    data[len(data) // 2] ^= 255
    with pytest.raises(ImageError, match="damaged"):
        read_gray(stored(tmp_path, data))


def test_a_palette_of_nothing_is_refused_in_words(tmp_path):
    data = pillow(Image.new("P", (4, 3)), "PNG")
    start, end = data.index(b"PLTE") - 4, data.index(b"IDAT") - 4
    path = stored(tmp_path, data[:start] + data[end:])
    with pytest.raises(ImageError, match=r"picture\.dat: the picture is damaged or cut off; replace it"):
        read_image(path)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(pillow(Image.new("RGBA", (33, 24)), "PNG"), id="png"),
        pytest.param(tiff(np.zeros((24, 33), np.uint8), tile=(16, 16)), id="tiff"),
    ],
)
def test_headers_that_claim_more_than_the_file_has_are_refused_at_once(tmp_path, data):
    if data.startswith(b"\x89PNG"):
        data = data[:8] + chunk(b"IHDR", struct.pack(">II", 33, 5_000_000) + data[24:29]) + data[33:]
    else:
        place = data.index(struct.pack("<HH", 257, 4))
        data = data[:place] + struct.pack("<HHII", 257, 4, 1, 5_000_000) + data[place + 12 :]
    began = time.monotonic()
    with pytest.raises(ImageError, match="its header claims 33x5000000 pixels, but the file has fewer"):
        read_image(stored(tmp_path, data))
    assert time.monotonic() - began < 1


def test_what_pillow_logs_is_not_printed(tmp_path):
    data = tiff(np.zeros((24, 33, 3), np.uint8), photometric="rgb")
    place = data.index(struct.pack("<HHIH", 277, 3, 1, 3)) + 8
    code = "import sys; from vjcascade.imaging import read_image; read_image(sys.argv[1])"
    path = stored(tmp_path, data[:place] + b"\x03\x01" + data[place + 2 :])
    run = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=False, cwd=PROJECT
    )
    assert "More samples" not in run.stderr
    assert "ImageError" in run.stderr.splitlines()[-1]


def test_a_picture_too_large_for_the_memory_is_called_so(tmp_path, photo, monkeypatch):
    def convert(self, mode):
        raise MemoryError

    monkeypatch.setattr(Image.Image, "convert", convert)
    with pytest.raises(ImageError, match="not enough memory for so large a picture; make it smaller"):
        read_image(stored(tmp_path, pillow(Image.fromarray(photo), "BMP")))


@pytest.mark.parametrize("name", ["missing.png", "."])
def test_what_cannot_be_opened_is_refused(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(ImageError, match="cannot be opened") as caught:
        read_gray(path)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, CascadeError)
    assert isinstance(caught.value, ValueError)


SIDE = 40_000
TAGS = [
    struct.pack("<HHII", tag, 4, 1, value)
    for tag, value in {256: SIDE, 257: SIDE, 258: 8, 259: 1, 262: 1, 273: 8, 277: 1, 279: SIDE**2}.items()
]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(png(np.zeros((1, 1)), 0, size=(SIDE, SIDE)), id="png"),
        pytest.param(f"P5 {SIDE} {SIDE} 255\n".encode(), id="pgm"),
        pytest.param(
            b"BM" + struct.pack("<IIIIIIHHIIIIII", 54, 0, 54, 40, SIDE, SIDE, 1, 24, *[0] * 6), id="bmp"
        ),
        pytest.param(b"II*\0" + struct.pack("<IH", 8, len(TAGS)) + b"".join(TAGS) + bytes(4), id="tiff"),
    ],
)
def test_decompression_bombs_are_refused_by_their_header(tmp_path, data):
    path = stored(tmp_path, data)
    start = time.perf_counter()
    with pytest.raises(ImageError, match=f"more than {imaging.MAX_PIXELS} pixels"):
        read_gray(path)
    assert time.perf_counter() - start < 0.2


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP", "PPM"])
def test_pixel_limit(tmp_path, kind):
    path = stored(tmp_path, pillow(Image.new("L", (60, 40)), kind))
    assert read_gray(path, max_pixels=2400).shape == (40, 60)
    with pytest.raises(ImageError, match=r"60x40 pixels are over the limit of 2399"):
        read_gray(path, max_pixels=2399)


def test_pillows_own_warning_about_large_pictures_stays_inside(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2000)
    path = stored(tmp_path, pillow(Image.new("L", (60, 40)), "PNG"))
    assert read_gray(path).shape == (40, 60)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    for read in (read_gray, image_size):
        with pytest.raises(ImageError, match="not a regular file"):
            read(tmp_path / "pipe.png")
