"""Picture files of every kind: read by one set of rules, written, listed."""

import subprocess
import sys
import zlib
from pathlib import Path

import naive
import numpy as np
import pytest
from picture_files import netpbm, pillow, png, stored, tiff
from PIL import Image
from simplejpeg import decode_jpeg

from vjcascade.errors import ImageError
from vjcascade.imaging import (
    decoding_memory,
    files,
    image_size,
    read_cutout,
    read_gray,
    read_image,
    read_upright,
    through_jpeg,
    to_gray,
    write_image,
)
from vjcascade.types import Size

RAMP_16 = (np.arange(24 * 24, dtype=np.uint16) * 113).reshape(24, 24)
COLOUR_16 = np.dstack([RAMP_16, RAMP_16[::-1], RAMP_16.T]).copy()
ORIENTATION = 274


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
    np.testing.assert_array_equal(read_gray(path), naive.to_gray(photo) if colour else pixels)
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
    expected = naive.over_mid_grey(values[..., :-1], values[..., -1:].astype(float))
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


# ---- names, writing, folders ----


@pytest.mark.parametrize(
    "name", ["-dash.png", "two blanks .png", "ünï-コード.png", "%d.png", "no suffix", "a'\"b.png"]
)
@pytest.mark.parametrize("kind", [str, Path])
def test_any_file_name(tmp_path, monkeypatch, name, kind):
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, pillow(Image.new("L", (3, 2), 5), "PNG"), name)
    assert read_gray(kind(name)).tolist() == [[5, 5, 5], [5, 5, 5]]


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
        write_image(tmp_path / name, np.zeros((2, 3), np.uint8))
    assert not list(tmp_path.iterdir())


def test_missing_folder_is_an_os_error_and_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="missing"):
        write_image(tmp_path / "missing" / "out.png", np.zeros((2, 3), np.uint8))


@pytest.fixture
def jpeg(rng):
    """Return a JPEG that looks like a photo."""
    pixels = np.cumsum(rng.normal(0, 6, (200, 300, 3)), axis=1).clip(-120, 120) + 128
    return pillow(Image.fromarray(pixels.astype(np.uint8)), "JPEG", quality=90)


def test_a_jpeg_without_its_second_half_is_refused(tmp_path, jpeg):
    """Decoders fill up what is missing, and say nothing where the end mark is there."""
    half = len(jpeg) // 2
    for damaged in (
        jpeg[:half] + bytes(len(jpeg) - half - 2) + jpeg[-2:],
        jpeg[:half] + jpeg[-2:],
        jpeg[: -len(jpeg) // 20] + jpeg[-2:],
    ):
        path = stored(tmp_path, damaged, "a.jpg")
        with pytest.raises(ImageError, match=r"a\.jpg: a part of the picture is missing"):
            read_gray(path)


def test_a_jpeg_with_a_hole_between_restart_markers_is_refused(tmp_path, rng):
    pixels = rng.integers(0, 256, (160, 160, 3), np.uint8)
    whole = pillow(Image.fromarray(pixels), "JPEG", restart_marker_rows=1)
    middle = len(whole) // 2
    path = stored(tmp_path, whole[:middle] + bytes(3000) + whole[middle + 3000 :], "a.jpg")
    with pytest.raises(ImageError, match=r"a\.jpg: a part of the picture is missing"):
        read_gray(path)


ODDITIES = {
    "bytes too many": lambda data: data.replace(b"\xff\xdb", b"\0\xff\0\xff\xdb", 1),
    "an unknown version": lambda data: data.replace(b"JFIF\0\1", b"JFIF\0\7", 1),
    "an unknown transform": lambda data: data[:2] + b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\7" + data[20:],
}
"""What libjpeg warns of before the pixels, though nothing is missing."""


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("odd", ODDITIES.values(), ids=ODDITIES)
def test_a_harmless_warning_hides_no_missing_part(tmp_path, rng, odd, progressive):
    """Libjpeg says aloud only the first thing that it warns of."""
    pixels = rng.integers(0, 256, (160, 160, 3), np.uint8)
    whole = odd(pillow(Image.fromarray(pixels), "JPEG", quality=90, progressive=progressive))
    assert read_gray(stored(tmp_path, whole, "whole.jpg")).shape == (160, 160)
    damaged = whole[: len(whole) // 2] + whole[-2:]
    with pytest.raises(ValueError, match=r"extraneous|JFIF|Adobe"):
        decode_jpeg(damaged, strict=True)
    with pytest.raises(ImageError, match=r"cut\.jpg: a part of the picture is missing"):
        read_gray(stored(tmp_path, damaged, "cut.jpg"))


@pytest.mark.parametrize("extra", [b"", b"junk" * 9, bytes(100)])
@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"subsampling": 0}, {"restart_marker_rows": 1}]
)
def test_a_whole_jpeg_is_read_whatever_follows_it(tmp_path, rng, options, extra):
    for mode, shape in (("L", (40, 50)), ("RGB", (41, 33, 3)), ("CMYK", (30, 30, 4))):
        image = Image.fromarray(rng.integers(0, 256, shape, np.uint8), mode)
        path = stored(tmp_path, pillow(image, "JPEG", **options) + extra, "a.jpg")
        assert read_gray(path).shape == shape[:2]


def test_real_jpegs_are_whole(shared_data):
    for path in sorted(shared_data("negatives-test").rglob("*.jpg"))[:60]:
        read_gray(path)


def test_pictures_of_other_kinds_are_named(tmp_path):
    for brand, kind in ((b"avif", "an AVIF picture"), (b"heic", "a HEIC picture")):
        path = stored(tmp_path, b"\0\0\0\x20ftyp" + brand + bytes(20), "a.jpg")
        with pytest.raises(
            ImageError, match=f"this is {kind}, which is not supported: save it as JPEG or PNG"
        ):
            read_image(path)


def test_exif_behind_the_pixels_of_a_png_counts_for_its_size(tmp_path):
    data = pillow(Image.new("L", (30, 20), 7), "PNG", exif=exif(6))
    start, pixels, end = data.index(b"eXIf") - 4, data.index(b"IDAT") - 4, data.index(b"IEND") - 4
    path = stored(tmp_path, data[:start] + data[pixels:end] + data[start:pixels] + data[end:])
    assert image_size(path) == (20, 30)
    assert read_image(path).shape == (30, 20)
    empty = b"\0\0\0\0eXIf" + zlib.crc32(b"eXIf").to_bytes(4, "big")
    path = stored(tmp_path, data[:end] + empty + data[end:])  # the one behind counts
    assert image_size(path) == (30, 20)
    assert read_image(path).shape == (20, 30)


@pytest.mark.parametrize("cut", [False, True])
def test_all_readers_give_the_same_reason(tmp_path, cut):
    data = pillow(Image.fromarray(np.zeros((20, 30), np.float32)), "TIFF")
    path = stored(tmp_path, data[:-200] if cut else data)
    for read in (read_image, read_gray, read_upright):
        with pytest.raises(ImageError, match="32-bit numbers have no fixed white"):
            read(path)


def test_what_exif_turns_is_told(tmp_path, rng):
    image = Image.fromarray(rng.integers(0, 256, (20, 30), np.uint8))
    for orientation, is_turned in ((None, False), (1, False), (6, True), (3, True), (99, False)):
        exif = Image.Exif()
        if orientation:
            exif[274] = orientation
        gray, told = read_upright(stored(tmp_path, pillow(image, "PNG", exif=exif), "a.png"))
        assert told is is_turned
        assert gray.shape == ((30, 20) if orientation == 6 else (20, 30))


# ---- memory ----


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("PNG", "RGB"),
        ("PNG", "RGBA"),
        ("PNG", "LA"),
        ("PNG", "P"),
        ("PNG", "1"),
        ("PNG", "I;16"),
        ("JPEG", "L"),
        ("JPEG", "CMYK"),
        ("GIF", "P"),
        ("TIFF", "RGB"),
        ("WEBP", "RGBA"),
        ("PPM", "RGB"),
    ],
)
def test_bands_give_the_pixels_of_the_whole(tmp_path, rng, monkeypatch, kind, mode):
    pixels = rng.integers(0, 256, (37, 23, 4), np.uint8)
    picture = Image.fromarray(pixels, "RGBA")
    picture = Image.fromarray(RAMP_16) if mode == "I;16" else picture.convert(mode)
    path = stored(tmp_path, pillow(picture, kind))
    whole = read_gray(path)
    monkeypatch.setattr(files, "_BAND", 100)
    np.testing.assert_array_equal(read_gray(path), whole)
    np.testing.assert_array_equal(to_gray(read_image(path)), whole)


@pytest.mark.parametrize("depth", ["16-bit colour PPM", "turned TIFF", "turned JPEG"])
def test_bands_of_special_pictures(tmp_path, photo, monkeypatch, depth):
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    data = {
        "16-bit colour PPM": netpbm("P6", COLOUR_16),
        "turned TIFF": pillow(Image.fromarray(photo), "TIFF", exif=exif),
        "turned JPEG": pillow(Image.fromarray(photo), "JPEG", exif=exif),
    }[depth]
    path = stored(tmp_path, data)
    whole = read_gray(path)
    monkeypatch.setattr(files, "_BAND", 100)
    np.testing.assert_array_equal(read_gray(path), whole)
    assert image_size(path) == whole.shape[::-1]


PEAK = """
import sys
from pathlib import Path
from vjcascade.imaging import opencv, read_gray

def peak():
    return 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

opencv()
read_gray(sys.argv[1])  # loads the libraries
before = peak()
read_gray(sys.argv[2])
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell peaks of memory")
@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("JPEG", "RGB", {}),
        ("JPEG", "RGB", {"progressive": True}),
        ("PNG", "RGBA", {"compress_level": 1}),
        ("PNG", "L", {"compress_level": 1}),
        ("WEBP", "RGB", {"lossless": True, "method": 0}),
    ],
)
def test_decoding_takes_no_more_memory_than_is_said(tmp_path, rng, kind, mode, options):
    coarse = Image.fromarray(rng.integers(0, 256, (30, 40, 4), np.uint8), "RGBA").convert(mode)
    small = stored(tmp_path, pillow(coarse, kind, **options), "small")
    large = stored(
        tmp_path, pillow(coarse.resize((4000, 3000), Image.Resampling.NEAREST), kind, **options), "large"
    )
    done = subprocess.run(
        [sys.executable, "-c", PEAK, small, large], capture_output=True, text=True, check=True, timeout=100
    )
    said = decoding_memory(large)
    assert said / 3 < int(done.stdout) < said


def test_a_cutout_keeps_what_is_transparent_apart(tmp_path):
    layers = np.zeros((2, 3, 4), np.uint8)
    layers[..., :3] = [255, 0, 0]
    layers[0, :, 3] = 255
    Image.fromarray(layers, "RGBA").save(tmp_path / "a.png")
    gray, opacity = read_cutout(tmp_path / "a.png")
    assert (gray == 76).all()
    assert opacity.tolist() == [[255] * 3, [0] * 3]
    Image.fromarray(layers[..., :3]).save(tmp_path / "b.png")
    assert (read_cutout(tmp_path / "b.png")[1] == 255).all()


def test_a_cutout_is_upright(tmp_path):
    layers = np.zeros((2, 3, 2), np.uint8)
    layers[0, 0] = [9, 255]
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(layers, "LA").save(tmp_path / "a.png", exif=exif)
    gray, opacity = read_cutout(tmp_path / "a.png")
    assert gray.shape == opacity.shape == (3, 2)
    assert (gray[0, 1], opacity[0, 1]) == (9, 255)


def test_jpeg_loses_more_at_lower_quality(rng):
    gray = rng.integers(0, 256, (40, 40), np.uint8)
    errors = [np.abs(through_jpeg(gray, quality) - gray.astype(float)).mean() for quality in (95, 50, 5)]
    assert 0 < errors[0] < errors[1] < errors[2]
