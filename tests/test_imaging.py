"""Picture files of every kind, refusals, grey conversion, resizing, drawing, writing."""

import io
import struct
import subprocess
import sys
import time
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis.extra.numpy import arrays
from PIL import Image

from vjcascade import imaging
from vjcascade.errors import CascadeError, ImageError
from vjcascade.imaging import (
    draw_boxes,
    image_size,
    list_images,
    read_gray,
    read_image,
    resize_crop,
    resize_exact,
    to_gray,
    write_image,
)
from vjcascade.types import Size

RAMP_16 = (np.arange(24 * 24, dtype=np.uint16) * 113).reshape(24, 24)
COLOUR_16 = np.dstack([RAMP_16, RAMP_16[::-1], RAMP_16.T]).copy()
ORIENTATION = 274


def gray_formula(rgb):
    r, g, b = (rgb[..., i].astype(np.int64) for i in range(3))
    return ((3735 * b + 19235 * g + 9798 * r + 16384) >> 15).astype(np.uint8)


def over_128(values, alpha):
    return np.rint(alpha / 255 * values + (1 - alpha / 255) * 128).astype(np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(values, colour_type, size=None):
    """Encode what Pillow cannot: PNG of 16 bits a sample, or with a header that claims another `size`."""
    header = struct.pack(">IIBBBBB", *(size or values.shape[1::-1]), 16, colour_type, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in values.astype(">u2"))
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def tiff(values, **options):
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, values, **options)
    return buffer.getvalue()


def netpbm(kind, values, maximum=65535):
    height, width = values.shape[:2]
    return f"{kind} {width} {height} {maximum}\n".encode() + values.astype(">u2").tobytes()


def pillow(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def stored(folder, data, name="picture.dat"):
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.fixture
def photo(rng):
    """Return a smooth RGB picture of 60 x 40."""
    coarse = rng.integers(0, 256, (5, 7, 3), dtype=np.uint8)
    return np.array(Image.fromarray(coarse).resize((60, 40), Image.Resampling.BICUBIC))


# ---- depth ----


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(pillow(Image.fromarray(RAMP_16), "PNG"), id="png"),
        pytest.param(tiff(RAMP_16), id="tiff"),
        pytest.param(tiff(RAMP_16, byteorder=">"), id="tiff big endian"),
        pytest.param(tiff(RAMP_16, compression="zlib", predictor=True), id="tiff deflate"),
        pytest.param(tiff(RAMP_16, tile=(16, 16)), id="tiff tiles"),
        pytest.param(tiff(RAMP_16, bigtiff=True), id="bigtiff"),
        pytest.param(netpbm("P5", RAMP_16), id="pgm"),
    ],
)
def test_16_bit_grey_keeps_the_high_byte(tmp_path, data):
    path = stored(tmp_path, data)
    gray = read_image(path)
    np.testing.assert_array_equal(gray, RAMP_16 >> 8)
    assert gray.dtype == np.uint8
    np.testing.assert_array_equal(read_gray(path), gray)


@pytest.mark.parametrize(("value", "level"), [(1000, 3), (60000, 234)])
def test_16_bit_is_not_stretched(tmp_path, value, level):
    path = stored(tmp_path, pillow(Image.fromarray(np.full((24, 24), value, np.uint16)), "PNG"))
    assert (read_gray(path) == level).all()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(png(COLOUR_16, 2), id="png"),
        pytest.param(tiff(COLOUR_16, photometric="rgb"), id="tiff"),
        pytest.param(tiff(COLOUR_16, photometric="rgb", byteorder=">"), id="tiff big endian"),
        pytest.param(tiff(COLOUR_16, photometric="rgb", compression="zlib"), id="tiff deflate"),
        pytest.param(netpbm("P6", COLOUR_16), id="ppm"),
    ],
)
def test_16_bit_colour_keeps_the_high_bytes(tmp_path, data):
    np.testing.assert_array_equal(read_image(stored(tmp_path, data)), COLOUR_16 >> 8)


def test_netpbm_of_12_bits_is_scaled_by_its_maximum(tmp_path):
    gray = read_image(stored(tmp_path, netpbm("P5", RAMP_16 >> 4, maximum=4095)))
    assert np.abs(gray.astype(int) - (RAMP_16 >> 8)).max() <= 1


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(tiff(RAMP_16.astype(np.int32)), id="int32"),
        pytest.param(tiff(RAMP_16.astype(np.int16)), id="int16"),
        pytest.param(tiff(RAMP_16 / np.float32(65535)), id="float32"),
        pytest.param(tiff(RAMP_16 / 65535), id="float64"),
        pytest.param(b"Pf\n24 24\n-1.0\n" + bytes(24 * 24 * 4), id="pfm"),
        pytest.param(tiff(RAMP_16, photometric="miniswhite"), id="white is zero"),
        pytest.param(
            tiff(np.moveaxis(COLOUR_16, 2, 0).copy(), photometric="rgb", planarconfig="separate"), id="planes"
        ),
    ],
)
def test_depths_without_a_rule_are_refused(tmp_path, data):
    with pytest.raises(ImageError, match=r"picture\.dat: "):
        read_image(stored(tmp_path, data))


# ---- formats and modes ----


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("BMP", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("PPM", {}),
        ("WEBP", {"lossless": True}),
    ],
)
@pytest.mark.parametrize("colour", [True, False])
def test_lossless_formats_give_back_the_pixels(tmp_path, photo, kind, options, colour):
    pixels = photo if colour else photo[:, :, 0]
    path = stored(tmp_path, pillow(Image.fromarray(pixels), kind, **options))
    expected = np.dstack([pixels] * 3) if kind == "WEBP" and not colour else pixels
    np.testing.assert_array_equal(read_image(path), expected)
    np.testing.assert_array_equal(read_gray(path), gray_formula(photo) if colour else pixels)
    assert image_size(path) == Size(60, 40)


@pytest.mark.parametrize("kind", ["JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_lossy_formats_come_close(tmp_path, photo, kind, mode):
    original = Image.fromarray(photo).convert(mode)
    gray = read_gray(stored(tmp_path, pillow(original, kind)))
    assert np.abs(gray.astype(int) - to_gray(np.array(original))).mean() < 5


@pytest.mark.parametrize(
    ("mode", "kind", "shape"),
    [
        ("1", "PNG", (40, 60)),
        ("1", "TIFF", (40, 60)),
        ("1", "PPM", (40, 60)),
        ("P", "PNG", (40, 60, 3)),
        ("P", "BMP", (40, 60, 3)),
        ("CMYK", "JPEG", (40, 60, 3)),
        ("CMYK", "TIFF", (40, 60, 3)),
        ("YCbCr", "TIFF", (40, 60, 3)),
    ],
)
def test_modes(tmp_path, photo, mode, kind, shape):
    original = Image.fromarray(photo).convert(mode)
    path = stored(tmp_path, pillow(original, kind))
    pixels = read_image(path)
    assert pixels.shape == shape
    expected = np.array(original.convert("RGB" if len(shape) == 3 else "L"))
    assert np.abs(pixels.astype(int) - expected).mean() < 5
    for array in (pixels, read_gray(path)):
        assert array.flags.writeable
        assert array.flags.c_contiguous


def test_first_frame_of_an_animation(tmp_path):
    frames = [Image.new("L", (8, 8), level) for level in (10, 200)]
    data = pillow(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert (read_gray(stored(tmp_path, data)) == 10).all()


# ---- alpha ----


@pytest.mark.parametrize(
    ("mode", "kind"), [("LA", "PNG"), ("RGBA", "PNG"), ("RGBA", "TIFF"), ("RGBA", "WEBP")]
)
def test_alpha_is_laid_over_mid_grey(tmp_path, rng, mode, kind):
    values = rng.integers(0, 256, (16, 16, len(mode)), dtype=np.uint8)
    options = {"lossless": True, "exact": True} if kind == "WEBP" else {}
    pixels = read_image(stored(tmp_path, pillow(Image.fromarray(values, mode), kind, **options)))
    expected = over_128(values[..., :-1], values[..., -1:].astype(float))
    np.testing.assert_array_equal(pixels, expected[..., 0] if mode == "LA" else expected)


def test_half_transparent_picture(tmp_path):
    values = np.full((24, 24, 2), (200, 255), np.uint8)
    values[:, 12:, 1] = 0
    gray = read_gray(stored(tmp_path, pillow(Image.fromarray(values, "LA"), "PNG"), "cut.PNG"))
    assert (gray[:, :12] == 200).all()
    assert (gray[:, 12:] == 128).all()


def palette_picture():
    picture = Image.new("P", (2, 1))
    picture.putpalette([0, 0, 0, 255, 255, 255])
    picture.putpixel((1, 0), 1)
    return picture


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(pillow(palette_picture(), "PNG", transparency=0), [[128, 255]], id="one colour"),
        pytest.param(pillow(palette_picture(), "PNG", transparency=b"\x33\x00"), [[102, 128]], id="bytes"),
        pytest.param(pillow(palette_picture(), "GIF", transparency=1), [[0, 128]], id="gif"),
        pytest.param(
            pillow(Image.fromarray(np.uint8([[9, 80]])), "PNG", transparency=9), [[128, 80]], id="one level"
        ),
        pytest.param(
            pillow(Image.fromarray(np.uint16([[9, 20480]])), "PNG", transparency=9), [[128, 80]], id="16 bit"
        ),
        pytest.param(
            pillow(Image.fromarray(np.uint8([[[9, 9, 9], [8, 8, 8]]])), "PNG", transparency=(9, 9, 9)),
            [[128, 8]],
            id="one RGB",
        ),
        pytest.param(
            png(np.uint16([[[2560, 65535], [2560, 0]]]), 4), [[10, 128]], id="16-bit grey and alpha"
        ),
    ],
)
def test_transparency_without_alpha_channel(tmp_path, data, expected):
    assert read_gray(stored(tmp_path, data)).tolist() == expected


# ---- orientation ----


def exif(orientation):
    tags = Image.Exif()
    tags[ORIENTATION] = orientation
    return tags


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize(
    ("kind", "depth"), [("PNG", 8), ("PNG", 16), ("TIFF", 8), ("TIFF", 16), ("WEBP", 8), ("JPEG", 8)]
)
def test_exif_orientation(tmp_path, orientation, kind, depth):
    gray = np.full((16, 32), 20, np.uint8)
    gray[:8, :16], gray[8:, :16] = 240, 120
    upright = {
        1: gray,
        2: gray[:, ::-1],
        3: np.rot90(gray, 2),
        4: gray[::-1],
        5: gray.T,
        6: np.rot90(gray, -1),
        7: np.rot90(gray, 2).T,
        8: np.rot90(gray),
    }[orientation]
    pixels = gray.astype(np.uint16) << 8 if depth == 16 else gray
    options = {"lossless": True} if kind == "WEBP" else {}
    path = stored(tmp_path, pillow(Image.fromarray(pixels), kind, exif=exif(orientation), **options))
    read = read_gray(path)
    assert read.shape == upright.shape
    assert np.abs(read.astype(int) - upright).max() <= 3
    assert image_size(path) == Size(*upright.shape[::-1])


@pytest.mark.parametrize(
    "broken",
    [
        b"Exif\0\0MM\0*\0\0\0\x08\0\x09\x01",
        b"Exif\0\0garbage and more garbage",
        b"Exif\0\0",
        b"Exif\0\0II*\0\xff\xff\xff\xff",
    ],
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_broken_exif_neither_warns_nor_refuses(tmp_path, recwarn, broken, kind):
    path = stored(tmp_path, pillow(Image.new("L", (30, 20), 7), kind, exif=broken))
    assert np.abs(read_gray(path).astype(int) - 7).max() <= 1
    assert image_size(path) == Size(30, 20)
    assert not recwarn


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
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    assert (run.stdout, run.stderr) == ("7\n", "")


def test_import_is_lazy():
    program = (
        "import sys, vjcascade.imaging, vjcascade.video; print({'PIL', 'cv2', 'skimage'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    assert run.stdout == "set()\n"


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
        pytest.param(b"this is text", "no picture", id="text"),
        pytest.param(b"BMx and text", "no picture", id="text like BMP"),
        pytest.param(b"P5 two three 255\n", "damaged", id="text like PGM"),
        pytest.param(
            b"%!PS-Adobe-3.0 EPSF-3.0\n", "no picture", id="a format that Pillow knows and we do not"
        ),
        pytest.param(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no picture", id="svg"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + bytes(40), "no picture", id="PNG header only"),
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


@pytest.mark.parametrize(
    "name", ["-dash.png", "two blanks .png", "ünï-コード.png", "%d.png", "no suffix", "a'\"b.png"]
)
@pytest.mark.parametrize("kind", [str, Path])
def test_any_file_name(tmp_path, monkeypatch, name, kind):
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, pillow(Image.new("L", (3, 2), 5), "PNG"), name)
    assert read_gray(kind(name)).tolist() == [[5, 5, 5], [5, 5, 5]]


# ---- arrays ----

GRAY = np.arange(256, dtype=np.uint8).reshape(16, 16)


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize(
    "convert",
    [
        lambda a: a.astype(np.uint16) * 257,
        lambda a: a.astype(np.uint16) * 256,
        lambda a: a.astype(">u2") * 257,
        lambda a: (a / 255).astype(np.float16),
        lambda a: (a / 255).astype(np.float32),
        lambda a: a / 255,
        lambda a: (a / 255).astype(">f4"),
        np.asfortranarray,
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    ],
)
def test_every_dtype_gives_the_grey_levels_of_uint8(convert, colour):
    image = np.dstack([GRAY, GRAY.T, GRAY[::-1]]) if colour else GRAY
    np.testing.assert_array_equal(to_gray(convert(image)), to_gray(image))


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (GRAY[:, :, None], GRAY),
        (np.array([[False, True]]), [[0, 255]]),
        (np.array([[0.0, 0.5, 1.0]]), [[0, 128, 255]]),
        (np.uint8([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]]), [[76, 150, 29]]),
        (np.uint8([[[9, 9, 9, 0], [9, 9, 9, 255]]]), [[128, 9]]),
        (np.array([[[1.0, 1.0, 1.0, 0.0]]]), [[128]]),
    ],
)
def test_to_gray(image, expected):
    gray = to_gray(image)
    np.testing.assert_array_equal(gray, expected)
    assert gray.dtype == np.uint8


def test_grey_uint8_comes_back_itself():
    assert to_gray(GRAY) is GRAY


@given(arrays(np.uint8, (3, 5, 3)))
def test_grey_is_opencvs_formula(rgb):
    np.testing.assert_array_equal(to_gray(rgb), gray_formula(rgb))


@given(arrays(np.uint8, (3, 5, 4)))
def test_alpha_of_arrays_is_the_rule_of_files(rgba):
    over_grey = over_128(rgba[..., :3], rgba[..., 3:].astype(float))
    np.testing.assert_array_equal(to_gray(rgba), gray_formula(over_grey))


@pytest.mark.parametrize(
    ("image", "error", "words"),
    [
        (None, TypeError, "NoneType"),
        ([[1, 2]], TypeError, "list"),
        (np.zeros((2, 2), np.int64), TypeError, "int64"),
        (np.zeros((2, 2), np.int8), TypeError, "int8"),
        (np.zeros((2, 2), np.complex64), TypeError, "complex64"),
        (np.array([[None]]), TypeError, "object"),
        (np.zeros((0, 0), np.uint8), ImageError, r"\(0, 0\)"),
        (np.zeros((0, 5, 3), np.uint8), ImageError, r"\(0, 5, 3\)"),
        (np.zeros(7, np.uint8), ImageError, r"\(7,\)"),
        (np.zeros((2, 2, 2), np.uint8), ImageError, r"\(2, 2, 2\)"),
        (np.zeros((1, 2, 2, 3), np.uint8), ImageError, r"\(1, 2, 2, 3\)"),
        (np.array([[0.0, 255.0]]), ImageError, "0 to 255"),
        (np.array([[-0.5, 1.0]]), ImageError, "-0.5 to 1"),
        (np.array([[np.nan, 1.0]]), ImageError, "nan"),
        (np.array([[0.0, np.inf]]), ImageError, "inf"),
    ],
)
def test_to_gray_refuses(image, error, words):
    with pytest.raises(error, match=words):
        to_gray(image)


# ---- resizing, drawing, writing ----


@pytest.mark.parametrize("resize", [resize_exact, resize_crop])
@pytest.mark.parametrize("size", [Size(24, 24), Size(100, 80), Size(30, 90), Size(60, 20)])
def test_resizing_gives_the_size(photo, resize, size):
    assert resize(photo[:, :, 0], size).shape == (size.height, size.width)


@pytest.mark.parametrize("resize", [resize_exact, resize_crop])
def test_equal_size_is_the_same_array(photo, resize):
    assert resize(photo, Size(60, 40)) is photo


@pytest.mark.parametrize(
    ("size", "interpolation"),
    [
        (Size(30, 20), cv2.INTER_AREA),
        (Size(60, 20), cv2.INTER_AREA),
        (Size(61, 20), cv2.INTER_LINEAR_EXACT),
        (Size(90, 80), cv2.INTER_LINEAR_EXACT),
    ],
)
def test_crops_are_averaged_where_they_shrink(photo, size, interpolation):
    expected = cv2.resize(photo, size, interpolation=interpolation)
    np.testing.assert_array_equal(resize_crop(photo, size), expected)


def test_boxes_are_crisp_and_the_picture_is_left_alone():
    image = np.zeros((20, 30), np.uint8)
    drawn = draw_boxes(image, np.array([[2, 3, 10, 8]], np.int32))
    expected = np.zeros((20, 30), bool)
    expected[3:11, 2:12] = True
    expected[4:10, 3:11] = False
    np.testing.assert_array_equal(drawn.any(axis=2), expected)
    assert drawn.shape == (20, 30, 3)
    assert np.unique(drawn.reshape(-1, 3), axis=0).tolist() == [[0, 0, 0], [0, 255, 0]]
    assert not image.any()


def test_lines_thicken_with_the_picture_inside_the_box():
    drawn = draw_boxes(np.zeros((900, 1200, 3), np.uint8), np.array([[100, 100, 200, 200]]))
    assert np.flatnonzero(drawn[200].any(axis=1)).tolist() == [100, 101, 102, 297, 298, 299]


def test_labels_stand_above_their_box_or_inside_at_the_top():
    drawn = draw_boxes(
        np.zeros((100, 200, 3), np.uint8), np.array([[10, 60, 30, 30], [100, 0, 60, 60]]), ["0.97", "é"]
    )
    assert drawn[45:60, 10:20].any()
    assert drawn[2:9, 102:105].any()


def test_boxes_may_be_none_or_reach_beyond_the_picture():
    image = np.zeros((20, 20, 3), np.uint8)
    assert not draw_boxes(image, np.empty((0, 4), np.int32), []).any()
    assert draw_boxes(image, np.array([[-5, -5, 60, 15]]), ["a long label"]).any()


def test_labels_must_be_as_many_as_boxes():
    with pytest.raises(ValueError, match="zip"):
        draw_boxes(GRAY, np.array([[0, 0, 5, 5]]), ["a", "b"])


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tif", ".TIFF", ".ppm", ".pgm"])
@pytest.mark.parametrize("colour", [True, False])
def test_written_pictures_read_back(tmp_path, photo, suffix, colour):
    image = photo if colour else photo[:, :, 0]
    path = tmp_path / f"out{suffix}"
    write_image(path, image)
    np.testing.assert_array_equal(read_image(path), image)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [".jpg", ".jpeg", ".webp"])
def test_written_lossy_pictures_come_close(tmp_path, photo, suffix):
    path = tmp_path / f"out{suffix}"
    write_image(path, photo)
    assert np.abs(read_image(path).astype(int) - photo).mean() < 4


@pytest.mark.parametrize("name", ["out.gif", "out", "out.txt", "out.mp4"])
def test_unknown_suffixes_are_refused_before_anything_is_written(tmp_path, name):
    with pytest.raises(ImageError, match=r"\.png"):
        write_image(tmp_path / name, GRAY)
    assert not list(tmp_path.iterdir())


def test_missing_folder_is_an_os_error_and_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="missing"):
        write_image(tmp_path / "missing" / "out.png", GRAY)


# ---- OpenCV ----


@pytest.mark.parametrize("module", [None, type(sys)("cv2")], ids=["missing", "remains"])
def test_missing_opencv_says_what_to_install(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "cv2", module)
    with pytest.raises(imaging.OpenCVError, match="opencv-python-headless"):
        imaging.opencv.__wrapped__()


def test_folders_are_listed_sorted_without_hidden_files(tmp_path):
    names = ("b.JPG", "sub/deep/a.png", "sub-2/a.png", "B.png", "a.jpeg")
    for name in (*names, "notes.txt", ".hidden.png", ".cache/x.png", "sub/.trash/y.png", "png"):
        (tmp_path / ".data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ".data" / name).touch()
    found = list_images(tmp_path / ".data")
    assert [path.relative_to(tmp_path / ".data").as_posix() for path in found] == sorted(names)


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        list_images(tmp_path / "gone")
    assert caught.value.filename == str(tmp_path / "gone")
