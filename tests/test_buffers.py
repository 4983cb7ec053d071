from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vjcascade.buffers import LINE, ReusableBuffer, allocate, release_pages

STATUS = Path("/proc/self/statm")


def resident():
    return int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has this setting")
@pytest.mark.parametrize("is_mended", [False, True])
def test_freed_memory_is_used_again_though_the_environment_says_to_give_it_back(is_mended):
    """A process that makes and drops arrays of a megabyte gets new pages for each, or for the first alone."""
    code = (
        "import resource, numpy as np; from vjcascade.buffers import reuse_freed_memory\n"
        f"{'reuse_freed_memory()' if is_mended else ''}\n"
        "np.ones(2**17); before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(50): np.ones(2**17)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)"
    )
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert (int(ran.stdout) < 1000) == is_mended  # 256 pages an array


@pytest.mark.parametrize("on_disk", [False, True])
def test_rows_keep_what_is_written(rng, tmp_path, on_disk):
    array = allocate((700, 333), np.int32, tmp_path if on_disk else None)
    expected = rng.integers(0, 1000, array.shape).astype(np.int32)
    for start in range(0, 700, 90):
        rows = array[start : start + 90]
        rows[:] = expected[start : start + 90]
        release_pages(rows)
    release_pages(array)
    assert np.array_equal(array, expected)


def test_nothing_is_left_on_disk(tmp_path):
    array = allocate((100, 100), np.uint8, tmp_path)
    assert list(tmp_path.iterdir()) == []
    array[:] = 1


def test_no_rows_need_no_file(tmp_path):
    assert allocate((0, 100), np.uint8, tmp_path).shape == (0, 100)


@pytest.mark.skipif(not STATUS.exists(), reason="the system does not tell resident memory")
def test_memory_is_given_back(tmp_path):
    array = allocate((64, 2**20), np.uint8, tmp_path)
    before = resident()
    array[:] = 3
    filled = resident()
    release_pages(array[:32])
    half = resident()
    release_pages(array)
    assert filled - before > 60 * 2**20
    assert filled - half > 28 * 2**20
    assert resident() - before < 4 * 2**20


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="space is not taken beforehand here")
def test_a_full_disk_is_told_of_at_once(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(
        OSError, match="No space left on device: there is no space for a file of 100 bytes"
    ) as e:
        allocate((10, 10), np.uint8, tmp_path)
    assert e.value.filename == str(tmp_path)


@pytest.mark.parametrize("n_bytes", [1, 1000, 5_000_000])
def test_arrays_in_memory_begin_with_a_whole_line(n_bytes):
    assert allocate((n_bytes,), np.uint8, None).ctypes.data % LINE == 0


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_space_holds_one_array_after_the_other(tmp_path, on_disk):
    """Of any dtype; a larger one needs a new place, a smaller one takes the old."""
    space = ReusableBuffer(tmp_path if on_disk else None)
    one = space.array((10, 10), np.uint8)
    one[:] = 3
    larger = space.array((30, 10), np.int32)
    assert not np.shares_memory(one, larger)
    larger[:] = 7
    smaller = space.array((5, 4), np.uint64)
    assert np.shares_memory(larger, smaller)
    smaller[:] = 9
    release_pages(smaller)
    assert (smaller == 9).all()
    assert list(tmp_path.iterdir()) == []
