"""From picture files to a model that OpenCV 4.14 runs with the same results."""

from __future__ import annotations

from pathlib import Path

import builders
import numpy as np
import pytest
from PIL import Image

from vjcascade import Cascade, Size, TrainingSettings, train
from vjcascade.detection import detect, evaluate_windows
from vjcascade.detection.scales import scan_levels
from vjcascade.detection.scanner import Scanner
from vjcascade.features import HaarMode
from vjcascade.files import MODEL_NAME
from vjcascade.imaging import resize_exact
from vjcascade.training.events import StageDone

PICTURES = ("brick.png", "camera.png", "clock_motion.png", "coins.png", "grass.png", "gravel.png", "moon.png")
ALL_SCALES = np.array([(1.1, 0, 0, 0, 0, 0)])  # raw windows


def write_pictures(folder, pictures):
    folder.mkdir()
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).save(folder / f"{i:03}.png")


def easy_positive(rng):
    return (np.where(np.arange(24) < 12, 200, 50) + rng.normal(0, 12, (24, 24))).clip(0, 255).astype(np.uint8)


def easy_negative(rng, side=120):
    from scipy.ndimage import gaussian_filter

    noise = gaussian_filter(rng.normal(0, 1, (side, side)), 3)
    return (128 + 40 * (noise - noise.mean()) / noise.std()).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def easy_set(tmp_path_factory):
    """Return a folder with 60 easy positives in `pos` and 20 photos of noise in `neg`."""
    folder, rng = tmp_path_factory.mktemp("easy"), np.random.default_rng(1)
    write_pictures(folder / "pos", [easy_positive(rng) for _ in range(60)])
    write_pictures(folder / "neg", [easy_negative(rng) for _ in range(20)])
    return folder


def train_easy(easy_set, output, n_threads):
    settings = TrainingSettings(max_stages=2, n_negatives=100, baseline=False)
    train(easy_set / "pos", easy_set / "neg", output, settings, window=Size(24, 24), n_threads=n_threads)
    return output / MODEL_NAME


@pytest.fixture(scope="module")
def easy_model(easy_set):
    return train_easy(easy_set, easy_set / "model", 1)


def test_threads_do_not_matter(easy_set, easy_model, tmp_path):
    assert train_easy(easy_set, tmp_path, 4).read_bytes() == easy_model.read_bytes()


@pytest.mark.oracle
def test_crops_of_the_easy_set(easy_model, oracle, rng, tmp_path):
    """Case 12: 100 positives, 100 negatives and 20 checkerboards at the contrast floor."""
    photos = [easy_negative(rng) for _ in range(10)]
    places = rng.integers(0, 120 - 24, (100, 2))
    crops = np.stack(
        [
            *(easy_positive(rng) for _ in range(100)),
            *(photos[i % 10][y : y + 24, x : x + 24] for i, (x, y) in enumerate(places)),
            *(builders.checkerboard(24, 24, amplitude) for amplitude in [10] * 10 + [11] * 10),
        ]
    )
    cascade = Cascade.load(easy_model)
    ours = evaluate_windows(cascade, crops)[0] == cascade.n_stages
    theirs = oracle("accept_crops", xml=easy_model, crops=crops)["accepted"]
    np.testing.assert_array_equal(ours, theirs)
    assert ours[:100].mean() > 0.9
    assert ours[100:200].mean() < 0.3
    assert not ours[200:210].any()

    everything = builders.accept_all(Size(24, 24))
    everything.save(tmp_path / "all.xml")
    ours = evaluate_windows(everything, crops)[0] == everything.n_stages
    np.testing.assert_array_equal(
        ours, oracle("accept_crops", xml=tmp_path / "all.xml", crops=crops)["accepted"]
    )
    assert (ours[200:210].any(), ours[210:].all()) == (False, True)


def face_crops():
    """Return the 100 faces and 100 other crops of scikit-image's subset of LFW, 25x25."""
    import skimage

    crops = np.load(Path(skimage.__file__).parent / "data" / "lfw_subset.npy")
    crops = np.rint(crops * 255).astype(np.uint8)
    return crops[:100], crops[100:]


@pytest.fixture(scope="module")
def face_run(tmp_path_factory):
    """Train on 80 faces; return the model's path and the records of its stages."""
    folder = tmp_path_factory.mktemp("faces")
    faces, _ = face_crops()
    write_pictures(folder / "pos", faces[:80])
    write_pictures(folder / "neg", [builders.picture(name)[:300, :400] for name in PICTURES])
    records = []
    train(
        folder / "pos",
        folder / "neg",
        folder / "model",
        TrainingSettings(
            mode=HaarMode.ALL, max_stages=6, copies=3, n_negatives=600, false_alarm_rate=0.3, baseline=False
        ),
        window=Size(14, 14),
        listener=lambda event: records.append(event.record) if isinstance(event, StageDone) else None,
    )
    return folder / "model" / MODEL_NAME, records


def test_faces_are_learned(face_run):
    path, records = face_run
    cascade = Cascade.load(path)
    faces, others = face_crops()
    accepted = [
        evaluate_windows(cascade, np.stack([resize_exact(c, cascade.window) for c in crops]))[0]
        == cascade.n_stages
        for crops in (faces[80:], others)
    ]
    assert cascade.n_stages == len(records) >= 4
    assert accepted[0].mean() >= 0.7
    assert accepted[1].mean() <= 0.2
    assert records[-1].overall_false_alarm_rate < 0.01
    assert (
        detect(builders.picture("astronaut.png")[:256, 100:356], cascade, min_neighbors=0).boxes.shape[1] == 4
    )


def count_windows(cascade, picture):
    """Count the windows that a detector looks at."""
    scanner = Scanner(cascade)
    return sum(
        scanner.scan_rows(
            scanner.integrals(resize_exact(picture, level.size), level.step), level.rows, skip=True
        ).n_windows
        for level in scan_levels(Size(*picture.shape[::-1]), cascade.window, 1.1)
    )


def assert_same_in_pictures(cascade, xml, pictures, oracle):
    """Compare raw windows and their sums over all scales; return how many were looked at and found."""
    images = {f"image_{i}": picture for i, picture in enumerate(pictures)}
    expected = oracle("detect", xml=xml, settings=ALL_SCALES, **images)
    found = [detect(picture, cascade, min_neighbors=0) for picture in pictures]
    assert expected["n_boxes"].tolist() == [len(f) for f in found]
    np.testing.assert_array_equal(np.concatenate([f.boxes for f in found]), expected["boxes"])
    bar = float(cascade.effective_thresholds[-1])
    np.testing.assert_array_equal(np.concatenate([f.scores for f in found]), expected["weights"] - bar)
    return sum(count_windows(cascade, picture) for picture in pictures), len(expected["boxes"])


@pytest.mark.oracle
def test_a_trained_cascade_in_pictures(face_run, oracle):
    cascade = Cascade.load(face_run[0])
    assert cascade.features["tilted"].any()
    assert not cascade.features["tilted"].all()
    pictures = [builders.picture(name) for name in ("astronaut.png", "chelsea.png", "rocket.jpg")]
    n_windows, n_found = assert_same_in_pictures(cascade, face_run[0], pictures, oracle)
    assert n_windows > 100_000
    assert n_found > 100


@pytest.mark.oracle
def test_a_random_cascade_in_pictures(oracle, rng, tmp_path):
    cascade = builders.random_cascade(rng, Size(24, 20), (4, 6, 9, 12), tilted_share=0.4)
    cascade.save(tmp_path / "random.xml")
    pictures = [builders.picture(name) for name in ("coffee.png", "motorcycle_left.png")]
    n_windows, n_found = assert_same_in_pictures(cascade, tmp_path / "random.xml", pictures, oracle)
    assert n_windows > 100_000
    assert n_found > 1000


@pytest.mark.oracle
def test_windows_of_pictures_as_crops(face_run, oracle, rng):
    """Every crop is evaluated, not only what a scan does not skip."""
    cascade = Cascade.load(face_run[0])
    picture = builders.picture("astronaut.png")
    places = rng.integers(0, 512 - 14, (10_000, 2)).tolist()
    faces = [resize_exact(face, cascade.window) for face in face_crops()[0]]
    crops = np.stack([*(picture[y : y + 14, x : x + 14] for x, y in places), *faces])
    passed, _ = evaluate_windows(cascade, crops)
    theirs = oracle("accept_crops", xml=face_run[0], crops=crops)["accepted"]
    np.testing.assert_array_equal(passed == cascade.n_stages, theirs)
    assert 50 < theirs.sum() < 10_000
