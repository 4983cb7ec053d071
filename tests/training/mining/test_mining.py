from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import builders
import doubles
import numpy as np
import pytest

from vjcascade.cascade import Cascade
from vjcascade.detection import Detector, evaluate_windows
from vjcascade.detection.scales import scan_levels
from vjcascade.detection.scanner import Scanner
from vjcascade.errors import SourceError
from vjcascade.imaging import resize_exact, write_image
from vjcascade.training.data.backgrounds import open_background_images
from vjcascade.training.events import Progress, ProgressReporter, null_listener
from vjcascade.training.mining import collector, photo_scan
from vjcascade.training.mining.mining import MiningPlan, count_windows, mine_negatives
from vjcascade.training.mining.row_sampling import SCALE_FACTOR
from vjcascade.types import Size

WINDOW = Size(12, 10)
EVERYTHING = 10**6


def mine(
    photos,
    cascade,
    n_wanted,
    *,
    n_threads=1,
    seed=(5,),
    max_windows=10**9,
    pass_rate=1.0,
    listener=null_listener,
    known=(),
    hardest=False,
):
    return mine_negatives(
        photos,
        cascade,
        n_wanted,
        MiningPlan(pass_rate, max_windows, seed, hardest),
        known=known,
        n_threads=n_threads,
        progress=ProgressReporter("mining", listener),
    )


def noise(rng, *sizes):
    return doubles.Pictures([builders.smooth_noise(rng, h, w) for w, h in sizes])


@pytest.fixture
def photos(rng):
    return noise(rng, (40, 31), (25, 33), (12, 10), (12, 40), (29, 26))


@pytest.fixture
def cascade(rng):
    return builders.random_cascade(rng, WINDOW, (3, 4), tilted_share=0.3)


def all_windows(photos, window=WINDOW):
    """Every window of every level image, one after the other."""
    found = []
    for index in range(len(photos)):
        for level in scan_levels(photos.sizes[index], window, SCALE_FACTOR):
            image = resize_exact(photos[index], level.size)
            views = np.lib.stride_tricks.sliding_window_view(image, (window.height, window.width))
            found.append(views.reshape(-1, window.height, window.width))
    return np.concatenate(found)


def as_set(windows):
    return {window.tobytes() for window in windows}


def spy_on_scans(monkeypatch):
    """Count how often each window (level image, x, y) is looked at, and each level image opened."""
    looked_at, opened = Counter(), Counter()
    integrals, scan = Scanner.integrals, Scanner.scan_rows
    names = {}

    def named_integrals(self, level, *, memory):
        del memory  # integral images are kept here
        made = integrals(self, level)
        opened[level.tobytes()] += 1
        names[id(made)] = (made, level.tobytes())  # kept alive, so that ids are not used again
        return made

    def counted_scan(self, made, rows):
        for y in list(rows):
            for x in range(made.sizes[0].width - self.cascade.window.width + 1):
                looked_at[names[id(made)][1], x, y] += 1
        return scan(self, made, rows)

    monkeypatch.setattr(Scanner, "integrals", named_integrals)
    monkeypatch.setattr(Scanner, "scan_rows", counted_scan)
    return looked_at, opened


def test_exhausted_photos_give_every_window_that_passes(photos, cascade):
    mined = mine(photos, cascade, EVERYTHING)
    everything = all_windows(photos)
    passed, _ = evaluate_windows(cascade, everything)
    accepted = everything[passed == cascade.n_stages]
    assert 0 < len(accepted) < len(everything) / 2
    assert as_set(mined.windows) == as_set(accepted)
    assert len(as_set(mined.windows)) == len(mined.windows)
    assert mined.n_accepted == len(accepted)
    assert mined.n_searched == len(everything) == count_windows(photos, WINDOW)
    assert mined.exhausted
    assert mined.pass_rate == len(accepted) / len(everything)


def test_an_empty_cascade_passes_what_has_contrast(rng):
    photos = doubles.Pictures([builders.smooth_noise(rng, 20, 20), np.full((15, 15), 9, np.uint8)])
    mined = mine(photos, Cascade(WINDOW), EVERYTHING)
    everything = all_windows(photos)
    assert as_set(mined.windows) == as_set(everything[evaluate_windows(Cascade(WINDOW), everything)[0] == 0])
    assert mined.n_searched == len(everything)


@pytest.mark.parametrize("n_wanted", [1, 10, 60])
def test_windows_are_distinct_and_accepted(photos, cascade, n_wanted):
    mined = mine(photos, cascade, n_wanted)
    assert mined.windows.shape == (n_wanted, WINDOW.height, WINDOW.width)
    assert mined.windows.dtype == np.uint8
    assert len(as_set(mined.windows)) == n_wanted
    assert (evaluate_windows(cascade, mined.windows)[0] == cascade.n_stages).all()
    assert not mined.exhausted
    assert n_wanted <= mined.n_accepted <= mined.n_searched < count_windows(photos, WINDOW)


@pytest.mark.parametrize("pass_rate", [1.0, 0.05, 1e-9])
def test_no_window_is_looked_at_twice(photos, cascade, monkeypatch, pass_rate):
    """Sweep after sweep takes other rows, whatever pass rate was expected."""
    looked_at, _ = spy_on_scans(monkeypatch)
    mined = mine(photos, cascade, EVERYTHING, pass_rate=pass_rate)
    assert max(looked_at.values()) == 1
    assert mined.n_searched == sum(looked_at.values()) == count_windows(photos, WINDOW)


def test_several_sweeps_look_at_no_window_twice(photos, cascade, monkeypatch):
    n_all = len(mine(photos, cascade, EVERYTHING).windows)
    looked_at, opened = spy_on_scans(monkeypatch)
    mined = mine(photos, cascade, n_all // 2)  # at pass rate 1 the first sweep is far too thin
    assert max(opened.values()) > 1
    assert max(looked_at.values()) == 1
    assert mined.n_searched == sum(looked_at.values())


@pytest.mark.parametrize("hardest", [False, True])
@pytest.mark.parametrize("n_threads", [2, 4])
@pytest.mark.parametrize("n_wanted", [7, 60, EVERYTHING])
def test_threads_do_not_matter(photos, cascade, n_threads, n_wanted, hardest):
    one, many = (mine(photos, cascade, n_wanted, n_threads=n, hardest=hardest) for n in (1, n_threads))
    assert one.windows.tobytes() == many.windows.tobytes()
    assert (one.n_searched, one.n_accepted, one.exhausted) == (
        many.n_searched,
        many.n_accepted,
        many.exhausted,
    )


def test_seeds_matter(photos, cascade):
    first, again, other = (mine(photos, cascade, 20, seed=seed).windows for seed in ((5, 1), (5, 1), (5, 2)))
    assert first.tobytes() == again.tobytes()
    assert as_set(first) != as_set(other)
    one_photo = doubles.Pictures([photos[0]])  # all of it is looked at, and only the choice is left
    chosen = [as_set(mine(one_photo, cascade, 5, seed=(i,), pass_rate=1e-9).windows) for i in range(3)]
    assert not chosen[0] == chosen[1] == chosen[2]


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("max_windows", [1, 2, 200, 1000, 2777])
def test_the_number_of_windows_is_bounded(photos, cascade, max_windows, n_threads, monkeypatch):
    """No window more; and less than a row of them fewer."""
    looked_at, _ = spy_on_scans(monkeypatch)
    mined = mine(photos, cascade, EVERYTHING, max_windows=max_windows, n_threads=n_threads, pass_rate=1e-9)
    widest_row = max(size.width for size in photos.sizes) - WINDOW.width + 1
    assert max_windows - widest_row < mined.n_searched == sum(looked_at.values()) <= max_windows
    assert not mined.exhausted


def test_a_bound_that_is_just_reached_is_exhaustion(photos, cascade):
    n_windows = count_windows(photos, WINDOW)
    mined = mine(photos, cascade, EVERYTHING, max_windows=n_windows)
    assert (mined.n_searched, mined.exhausted) == (n_windows, True)


def test_tiny_photos(rng):
    photos = noise(rng, (12, 10), (11, 40), (40, 9), (1, 1))
    assert count_windows(photos, WINDOW) == 1
    mined = mine(photos, Cascade(WINDOW), 5)
    assert [w.tobytes() for w in mined.windows] == [photos[0].tobytes()]
    assert (mined.n_searched, mined.exhausted) == (1, True)


@pytest.mark.parametrize("sizes", [[], [(11, 10)]])
def test_nothing_to_look_at(rng, sizes):
    mined = mine(noise(rng, *sizes), Cascade(WINDOW), 5)
    assert mined.windows.shape == (0, 10, 12)
    assert (mined.n_searched, mined.n_accepted, mined.pass_rate, mined.exhausted) == (0, 0, 0, True)


def test_copies_are_taken_once(rng):
    tile = builders.smooth_noise(rng, 10, 12)
    photos = doubles.Pictures([tile, tile.copy(), np.tile(tile, (1, 2))])
    mined = mine(photos, Cascade(WINDOW), EVERYTHING)
    assert len(as_set(mined.windows)) == len(mined.windows)
    assert as_set(mined.windows) == as_set(all_windows(photos))
    assert mined.n_accepted == mined.n_searched > len(mined.windows)


def test_copies_do_not_crowd_out_the_others(rng):
    """Where a picture repeats itself, all of its distinct windows are found before it counts as exhausted."""
    tile = np.kron(rng.integers(0, 2, (2, 2)), np.full((3, 4), 200)).astype(np.uint8)
    photos = doubles.Pictures([np.tile(tile, (6, 6))])
    everything = all_windows(photos)
    passed = as_set(everything[evaluate_windows(Cascade(WINDOW), everything)[0] == 0])
    mined = mine(photos, Cascade(WINDOW), len(passed))
    assert as_set(mined.windows) == passed


def test_windows_come_from_all_photos(rng):
    """While much passes, a photo gives no more than twice its share."""
    photos = noise(rng, *[(40, 40)] * 8)
    mined = mine(photos, Cascade(WINDOW), 40)
    per_photo = [
        len(as_set(mined.windows) & as_set(all_windows(doubles.Pictures([photos[i]])))) for i in range(8)
    ]
    assert sum(per_photo) == 40
    assert max(per_photo) <= 10


def test_mining_sees_the_level_images_of_the_detector(photos, cascade, monkeypatch):
    seen = set()
    integrals = Scanner.integrals_of_levels

    def spy(self, levels, *rest):
        seen.update((level.shape, level.tobytes()) for level in levels)
        return integrals(self, levels, *rest)

    monkeypatch.setattr(Scanner, "integrals_of_levels", spy)
    mine(photos, cascade, EVERYTHING)
    mined, detector = set(seen), Detector(cascade, min_neighbors=0, scale_factor=SCALE_FACTOR, n_threads=1)
    seen.clear()
    for index in range(len(photos)):
        detector.detect(photos[index])
    assert mined == seen


def test_progress_is_told(photos, cascade):
    events = []
    mined = mine(photos, cascade, 30, listener=events.append)
    assert all(isinstance(event, Progress) and event.total == 30 for event in events)
    assert [e.done for e in events] == sorted(e.done for e in events)
    assert f"{mined.n_searched:,} windows" in events[-1].detail


def test_photos_are_visited_in_random_order(rng):
    """A single window may come from any photo, not always from the first."""
    photos = noise(rng, *[(20, 20)] * 6)
    of_photo = [as_set(all_windows(doubles.Pictures([photos[i]]))) for i in range(len(photos))]
    chosen = [mine(photos, Cascade(WINDOW), 1, seed=(5, i)).windows[0].tobytes() for i in range(12)]
    assert len({next(i for i, known in enumerate(of_photo) if one in known) for one in chosen}) > 2


def test_a_rich_photo_makes_up_for_poor_ones(rng):
    """What is beyond a photo's share is taken where the other photos have too little, in the same sweep too."""
    photos = noise(rng, (40, 40), *[(12, 10)] * 7)
    mined = mine(photos, Cascade(WINDOW), 100, pass_rate=1e-9)
    assert len(as_set(mined.windows)) == 100
    small = {photos[i].tobytes() for i in range(1, 8)}
    assert small <= as_set(mined.windows)


def test_photos_make_up_for_poor_ones_in_turn(rng):
    """Where several have more than their share, none gives much more than the others."""
    photos = noise(rng, *[(40, 40)] * 3, *[(12, 10)] * 12)
    mined = mine(photos, Cascade(WINDOW), 300, pass_rate=1e-9)
    rich = [len(as_set(mined.windows) & as_set(all_windows(doubles.Pictures([photos[i]])))) for i in range(3)]
    assert sum(rich) == 300 - 12
    assert max(rich) == min(rich)


def test_levels_give_windows_in_turn(rng):
    photos = noise(rng, (60, 60))
    levels = scan_levels(Size(60, 60), WINDOW, SCALE_FACTOR)
    mined = as_set(mine(photos, Cascade(WINDOW), 2 * len(levels), pass_rate=1e-9).windows)
    for level in levels:
        image = resize_exact(photos[0], level.size)
        views = np.lib.stride_tricks.sliding_window_view(image, (WINDOW.height, WINDOW.width))
        assert len(mined & as_set(views.reshape(-1, WINDOW.height, WINDOW.width))) == 2


def test_known_windows_are_not_found_again(photos, cascade):
    everything = mine(photos, cascade, EVERYTHING)
    known = everything.windows[::2]
    for n_wanted in (5, EVERYTHING):
        mined = mine(photos, cascade, n_wanted, known=known)
        assert len(mined.windows) == min(n_wanted, len(everything.windows) - len(known))
        assert not as_set(mined.windows) & as_set(known)
    assert (mined.n_accepted, mined.n_searched) == (everything.n_accepted, everything.n_searched)


def last_sums(cascade, windows):
    """Return the sums of the last stage, highest first."""
    return np.sort(evaluate_windows(cascade, windows)[1])[::-1].tolist()


@pytest.mark.parametrize("n_photos", [1, 3, 8])
def test_the_hardest_are_preferred(rng, n_photos):
    """Of each photo's share: the large one has more of them."""
    coarse = builders.random_cascade(rng, WINDOW, (12,))
    cascade = replace(coarse, leaves=rng.normal(size=len(coarse.leaves)).astype(np.float32))
    photos = noise(rng, (90, 90), *[(18, 18)] * (n_photos - 1))
    mined = mine(photos, cascade, 16, pass_rate=1e-9, hardest=True)
    of_photos = [mine(doubles.Pictures([photo]), cascade, EVERYTHING).windows for photo in photos]
    shares = [last_sums(cascade, windows)[: math.ceil(32 / n_photos)] for windows in of_photos]
    assert len(as_set(mined.windows)) == 16
    assert last_sums(cascade, mined.windows) == np.sort(np.concatenate(shares))[::-1].tolist()[:16]
    assert mined.exhausted


def test_windows_at_ignored_boxes_are_no_negatives(rng):
    picture = builders.smooth_noise(rng, 40, 50)
    boxes = [(5, 6, 20, 15), (38, -8, 30, 20)]
    mined = mine(doubles.Pictures([picture], {0: boxes}), Cascade(WINDOW), EVERYTHING)
    places = [
        np.array([x, y, *WINDOW]) * float(level.scale)
        for level in scan_levels(Size(50, 40), WINDOW, SCALE_FACTOR)
        for y in range(level.size.height - WINDOW.height + 1)
        for x in range(level.size.width - WINDOW.width + 1)
    ]
    clear = np.array([all(shared(place, box) <= 1 / 3 for box in boxes) for place in places])
    everything = all_windows(doubles.Pictures([picture]))
    expected = everything[clear & (evaluate_windows(Cascade(WINDOW), everything)[0] == 0)]
    assert as_set(mined.windows) == as_set(expected)
    assert (mined.n_searched, mined.n_accepted) == (len(everything), len(expected))
    assert mined.exhausted
    assert 0 < len(expected) < len(everything)


def shared(one, other):
    """Return the area that two boxes share, by the smaller one's."""
    sides = [min(one[i] + one[i + 2], other[i] + other[i + 2]) - max(one[i], other[i]) for i in (0, 1)]
    return max(sides[0], 0) * max(sides[1], 0) / min(one[2] * one[3], other[2] * other[3])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_photo_that_has_gone(rng, tmp_path, n_threads):
    for name in "abc":
        write_image(tmp_path / f"{name}.png", builders.smooth_noise(rng, 20, 20))
    photos = open_background_images(tmp_path, WINDOW, memory_limit=0)
    (tmp_path / "b.png").unlink()
    with pytest.raises(SourceError, match=r"b\.png can no longer be read"):
        mine(photos, Cascade(WINDOW), EVERYTHING, n_threads=n_threads)


def test_photos_without_a_window_are_not_opened(rng):
    class Closed(doubles.Pictures):
        def __getitem__(self, index):
            assert index == 0
            return super().__getitem__(index)

    photos = Closed(noise(rng, (20, 20), (11, 40)))
    assert mine(photos, Cascade(WINDOW), EVERYTHING).exhausted


def test_what_is_to_be_expected_is_told(photos, cascade, monkeypatch):
    monkeypatch.setattr(collector, "ETA_AFTER", 0)
    events = []
    mine(photos, cascade, EVERYTHING, listener=events.append)
    assert all("more for about" in event.detail for event in events[:-1])
    assert events[-1].detail.endswith(" windows")


@pytest.mark.parametrize("hardest", [False, True])
@pytest.mark.parametrize("n_wanted", [7, EVERYTHING])
def test_bands_of_a_level_give_the_windows_of_the_whole(rng, cascade, monkeypatch, n_wanted, hardest):
    photos = noise(rng, (40, 131), (90, 75))
    whole = mine(photos, cascade, n_wanted, hardest=hardest)
    monkeypatch.setattr(photo_scan, "BAND", 100)  # then a band has four times the rows of the window
    banded = mine(photos, cascade, n_wanted, hardest=hardest)
    np.testing.assert_array_equal(banded.windows, whole.windows)
    assert (banded.n_searched, banded.n_accepted) == (whole.n_searched, whole.n_accepted)
