"""Files of `opencv_createsamples`, made here after its rules, byte by byte."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as arrays

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.vec_files import HEADER, is_vec, read_vec, refuse_unlikely_size, write_vec
from vjcascade.types import Size


def as_opencv_writes(windows, *, unused=(0, 0), leading=0):
    """Return a file as OpenCV's source writes it."""
    n, height, width = windows.shape
    data = struct.pack("<iihh", n, width * height, *unused)
    for window in windows:
        data += struct.pack("<B", leading)
        for row in window.tolist():
            data += struct.pack(f"<{width}h", *row)
    return data


def as_opencv_reads(data, width, height):
    """Return the samples as OpenCV's trainer reads them: by the count of the header, of each number the lower byte."""
    count, size, _, _ = struct.unpack("<iihh", data[:12])
    assert size == width * height
    windows = []
    for i in range(count):
        start = 12 + i * (1 + 2 * size)
        numbers = struct.unpack(f"<{size}h", data[start + 1 : start + 1 + 2 * size])
        windows.append(np.array([number & 255 for number in numbers], np.uint8).reshape(height, width))
    return np.array(windows)


@pytest.fixture
def crops(rng):
    """Return smooth crops that are wider than high."""
    return smooth_crops(rng, 30, 12, 20)


def smooth_crops(rng, n, height, width):
    """Return waves of random directions: neighbours are alike, as in pictures."""
    y, x = np.mgrid[:height, :width]
    slopes, starts = rng.uniform(-0.5, 0.5, (n, 2, 1, 1)), rng.uniform(0, 7, (n, 1, 1))
    return (128 + 100 * np.sin(slopes[:, 0] * x + slopes[:, 1] * y + starts)).astype(np.uint8)


@pytest.mark.parametrize(("unused", "leading"), [((0, 0), 0), ((0, 255), 1), ((-1, 7), 255)])
def test_a_file_of_opencv_is_read_exactly(tmp_path, crops, unused, leading):
    data = as_opencv_writes(crops, unused=unused, leading=leading)
    (tmp_path / "a.vec").write_bytes(data)
    for size in (None, Size(20, 12)):
        read = read_vec(tmp_path / "a.vec", size)
        assert (read.windows == crops).all()
        assert (read.windows == as_opencv_reads(data, 20, 12)).all()
        assert (read.size, read.notes) == (Size(20, 12), ())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(arrays.arrays(np.uint8, st.tuples(st.integers(1, 4), st.integers(4, 9), st.integers(4, 9))))
def test_what_is_written_is_what_opencv_writes_and_comes_back(tmp_path, windows):
    write_vec(tmp_path / "a.vec", windows)
    data = (tmp_path / "a.vec").read_bytes()
    assert data == as_opencv_writes(windows)
    _, height, width = windows.shape
    assert (as_opencv_reads(data, width, height) == windows).all()
    assert (read_vec(tmp_path / "a.vec", Size(width, height)).windows == windows).all()


def test_only_the_lower_byte_of_a_number_counts(tmp_path, crops):
    data = bytearray(as_opencv_writes(crops))
    struct.pack_into("<h", data, 13, -1)
    struct.pack_into("<h", data, 15, 256 + 3)
    (tmp_path / "a.vec").write_bytes(data)
    read = read_vec(tmp_path / "a.vec")
    assert read.windows[0, 0, :2].tolist() == [255, 3]
    assert (read.windows == as_opencv_reads(bytes(data), 20, 12)).all()
    assert read.notes == ("a.vec: 1 sample with values outside of 0 to 255, of which the low byte is used",)


def test_bytes_behind_the_last_sample_are_not_read(tmp_path, crops):
    (tmp_path / "a.vec").write_bytes(as_opencv_writes(crops) + b"abc")
    read = read_vec(tmp_path / "a.vec")
    assert (len(read.windows), read.notes) == (
        30,
        ("a.vec: 3 bytes after the last sample, not read",),
    )


def test_a_file_that_is_cut_off_is_refused_with_the_counts(tmp_path, crops):
    data = as_opencv_writes(crops)
    (tmp_path / "a.vec").write_bytes(data[: 12 + 7 * 481 + 100])
    counts = "30 samples of 240 pixels, 14442 bytes, but it has 3479, 7 whole samples"
    with pytest.raises(SourceError, match=rf"a\.vec is truncated: its header says {counts}"):
        read_vec(tmp_path / "a.vec", Size(20, 12))
    (tmp_path / "a.vec").write_bytes(data[:-1])
    with pytest.raises(SourceError, match="29 whole samples"):
        read_vec(tmp_path / "a.vec")


def test_swapped_sides_are_refused_with_both_sizes(tmp_path, crops):
    write_vec(tmp_path / "a.vec", crops)
    both = "may be 12x20 or 20x12, but look like 20x12 with the sides swapped, as their"
    with pytest.raises(
        SourceError, match=f"samples of 240 pixels {both} .* or, if 12x20 is right, --window 12x20"
    ):
        refuse_unlikely_size(tmp_path / "a.vec", Size(12, 20))
    with pytest.raises(SourceError, match="may be 16x15 or 20x12, but look like 20x12, as"):
        refuse_unlikely_size(tmp_path / "a.vec", Size(16, 15))
    refuse_unlikely_size(tmp_path / "a.vec", Size(20, 12))


def test_a_size_that_is_given_is_obeyed_with_a_note(tmp_path, crops):
    write_vec(tmp_path / "a.vec", crops)
    read = read_vec(tmp_path / "a.vec", Size(12, 20))
    assert (read.windows == crops.reshape(-1, 20, 12)).all()
    (note,) = read.notes
    assert "a.vec: samples are read as 12x20" in note
    assert "look like 20x12 with the sides swapped, as their" in note
    assert read_vec(tmp_path / "a.vec", Size(20, 12)).notes == ()


@pytest.mark.parametrize("read", [read_vec, refuse_unlikely_size])
def test_a_size_of_other_pixels_is_refused(tmp_path, crops, read):
    write_vec(tmp_path / "a.vec", crops)
    with pytest.raises(SourceError, match=r"samples have 240 pixels, but 24x24 has 576; they may be 20x12, "):
        read(tmp_path / "a.vec", Size(24, 24))


@pytest.mark.parametrize("size", [(24, 24), (20, 24), (40, 16), (16, 40), (19, 20), (48, 12)])
def test_the_size_is_told_from_the_pixels(tmp_path, rng, size):
    width, height = size
    write_vec(tmp_path / "a.vec", smooth_crops(rng, 20, height, width))
    assert read_vec(tmp_path / "a.vec").size == size
    if width != height:
        with pytest.raises(SourceError, match=f"may be {height}x{width} or {width}x{height}"):
            refuse_unlikely_size(tmp_path / "a.vec", Size(height, width))


def test_samples_of_which_the_size_cannot_be_told_need_it(tmp_path, rng):
    noise = rng.integers(0, 256, (50, 12, 20), np.uint8)
    write_vec(tmp_path / "a.vec", noise)
    with pytest.raises(
        SourceError, match=r"samples of 240 pixels may be .*12x20.*; give the size, as --window"
    ):
        read_vec(tmp_path / "a.vec")
    assert (read_vec(tmp_path / "a.vec", Size(20, 12)).windows == noise).all()


def test_a_square_is_guessed_where_others_look_as_likely(tmp_path, rng):
    stripes = np.where(np.arange(24) < 12, 200, 50) + rng.integers(0, 30, (20, 24, 24))
    write_vec(tmp_path / "a.vec", stripes.astype(np.uint8))
    assert read_vec(tmp_path / "a.vec").size == (24, 24)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "has 0 bytes, but the header of a .vec has 12"),
        (b"\1\0\0\0", "has 4 bytes"),
        (struct.pack("<iihh", 0, 576, 0, 0), "says 0 samples of 576 pixels"),
        (struct.pack("<iihh", -5, 576, 0, 0), "says -5 samples"),
        (struct.pack("<iihh", 5, -576, 0, 0), "of -576 pixels"),
        (struct.pack(">iihh", 5, 576, 0, 0), "is not a valid .vec"),
        (struct.pack("<iihh", 2**31 - 1, 2**16, 0, 0), "is truncated"),
        (struct.pack("<iihh", 1, 257, 0, 0) + bytes(515), "cannot have sides of 4 to 256"),
        (b"a.png 1 2 3 4 5\n", "is not a valid .vec"),
    ],
)
def test_other_files_are_refused(tmp_path, data, reason):
    (tmp_path / "a.vec").write_bytes(data)
    with pytest.raises(SourceError, match=f"a.vec.*{reason}"):
        read_vec(tmp_path / "a.vec")


def test_files_are_recognised(tmp_path, crops):
    data = as_opencv_writes(crops)
    for name, content, truth in (
        ("a.vec", b"", True),
        ("a", data, True),
        ("b", data + b"0", False),
        ("c", b"", False),
    ):
        (tmp_path / name).write_bytes(content)
        assert is_vec(tmp_path / name) == truth
    assert not is_vec(tmp_path)
    assert HEADER.itemsize == 12


@pytest.mark.parametrize("shape", [(0, 9, 9), (9, 9), (1, 3, 9), (1, 9, 257)])
def test_what_is_no_crop_is_not_written(tmp_path, shape):
    with pytest.raises(SourceError, match=r"a\.vec: crops (must|of) "):
        write_vec(tmp_path / "a.vec", np.zeros(shape, np.uint8))
    with pytest.raises(SourceError, match=r"a\.vec: crops must .* and float64"):
        write_vec(tmp_path / "a.vec", np.zeros((1, 9, 9)))
    assert not list(tmp_path.iterdir())
