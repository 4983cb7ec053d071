"""Operating points: ranges, and their way through a model's metadata, which anybody may have written."""

import builders
import pytest

from vjcascade.cascade import CHANGES, OPERATING_POINT, Cascade
from vjcascade.detection import Detector
from vjcascade.errors import ModelError, SettingsError
from vjcascade.evaluation.operating_point import OperatingPoint
from vjcascade.types import Size

POINT = OperatingPoint(
    n_stages=2,
    threshold_shift=-0.25,
    min_neighbors=1,
    min_ranking_score=0.5,
    scale_factor=1.2,
    min_size=Size(15, 14),
)


@pytest.fixture
def cascade(rng):
    return builders.random_cascade(rng, stages=(3, 4, 5)).with_metadata(
        {"settings": {"seed": 1}, "recall": 1}
    )


def test_a_point_travels_with_the_model_that_it_makes(cascade, tmp_path, rng):
    POINT.applied(cascade, {"goal": "best F1"}).save(tmp_path / "tuned.xml")
    tuned = Cascade.load(tmp_path / "tuned.xml")
    assert OperatingPoint.of(tuned) == POINT
    assert tuned.metadata["tuning"] == {"goal": "best F1"}
    assert tuned.metadata["settings"] == {"seed": 1}
    assert "recall" not in tuned.metadata
    changed = cascade.first_stages(2).with_shifted_thresholds(-0.25, 1)
    assert tuned.metadata[CHANGES] == changed.metadata[CHANGES]
    picture = builders.smooth_noise(rng, 60, 70)
    wanted = Detector(
        changed, min_neighbors=1, min_ranking_score=0.5, scale_factor=1.2, min_size=(15, 14)
    ).detect(picture)
    assert POINT.detector(tuned).detect(picture).boxes.tolist() == wanted.boxes.tolist()
    assert len(wanted) > 0
    assert Detector(tuned).min_neighbors == 3  # a detector stays OpenCV's


def test_a_changed_model_has_no_point(cascade):
    tuned = POINT.applied(cascade)
    assert OperatingPoint.of(cascade) is None
    assert OperatingPoint.of(tuned.first_stages(1)) is None
    assert OperatingPoint.of(tuned.with_shifted_thresholds(1)) is None


def test_a_point_of_more_stages(cascade):
    with pytest.raises(SettingsError, match="stages 4 is not a whole number from 0 to 3"):
        OperatingPoint(n_stages=4).applied(cascade)


def test_a_point_may_use_fewer_stages_than_there_are(cascade, rng):
    point = OperatingPoint(n_stages=2, min_neighbors=1)
    whole = cascade.with_metadata({OPERATING_POINT: point.as_dict()})
    assert OperatingPoint.of(whole) == point
    picture = builders.smooth_noise(rng, 60, 70)
    wanted = Detector(cascade.first_stages(2), min_neighbors=1).detect(picture)
    assert point.detector(whole).detect(picture).boxes.tolist() == wanted.boxes.tolist()
    assert wanted.boxes.tolist() != Detector(cascade, min_neighbors=1).detect(picture).boxes.tolist()
    assert OperatingPoint.of(whole.first_stages(2)) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"n_stages": 3}, "is of 3 stages, and the model has 2: tune it again"),
        ({"n_stages": 1}, "is of 1 stages, and the model has 2: tune it again"),  # with its threshold shifted
        ({"n_stages": 0}, "n_stages 0"),
        ({"n_stages": 1e300}, "n_stages 1e\\+300"),
        ({"threshold_shift": 1e7}, "threshold_shift 10000000.0 is not in"),
        ({"min_neighbors": -1}, "min_neighbors -1"),
        ({"min_neighbors": 10**9}, "min_neighbors 1000000000"),
        ({"min_neighbors": True}, "min_neighbors True"),
        ({"min_ranking_score": -0.5}, "min_ranking_score -0.5"),
        ({"min_ranking_score": "0"}, "min_ranking_score '0'"),
        ({"scale_factor": 1.0000001}, "scale_factor 1.0000001 is not in"),
        ({"scale_factor": 1e9}, "scale_factor 1000000000.0"),
        ({"min_size": [0, 3]}, "min_size"),
        ({"min_size": [3, 10**7]}, "sides of min_size 10000000"),
        ({"min_size": "large"}, "min_size 'large'"),
        ({"min_size": [1, 2, 3]}, "min_size"),
        ({"command": "rm"}, "unexpected keyword argument 'command'"),
    ],
)
def test_hostile_points_are_refused(cascade, change, reason):
    tuned = POINT.applied(cascade)
    broken = tuned.with_metadata({OPERATING_POINT: {**POINT.as_dict(), **change}})
    with pytest.raises(ModelError, match=f"operating point in the model's metadata .*{reason}"):
        OperatingPoint.of(broken)


@pytest.mark.parametrize("value", ["text", 3, [1], {}, [["n_stages", 2]]])
def test_what_is_no_point(cascade, value):
    with pytest.raises(ModelError, match="metadata is damaged"):
        OperatingPoint.of(cascade.with_metadata({OPERATING_POINT: value}))
