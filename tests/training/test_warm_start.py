"""Adding stages to a model: `continue_from`, of a model trained here and of one trained by others."""

from __future__ import annotations

from dataclasses import replace

import builders
import numpy as np
import pytest
from easy_pictures import save

from vjcascade import Cascade, TrainingSettings, train
from vjcascade.cascade import CHANGES
from vjcascade.errors import SettingsError
from vjcascade.files import MODEL_NAME
from vjcascade.formats import save_cascade
from vjcascade.training.events import StageBegun, StageDone
from vjcascade.training.warm_start import BaseModel
from vjcascade.types import FeatureType, Size

WINDOW = Size(8, 8)
SETTINGS = TrainingSettings(
    n_negatives=60, copies=0, max_stages=2, max_weak=3, false_alarm_rate=0.6, hit_rate=0.97, baseline=False
)
LONGER = replace(SETTINGS, max_stages=4)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Return a folder with crops, photos, more photos, and a model of two stages in `old`."""
    rng = np.random.default_rng(7)
    folder = tmp_path_factory.mktemp("pictures")
    pattern = np.where(np.arange(8) < 4, 40, -40)
    save(folder / "pos", np.clip(rng.normal(128 + pattern, 40, (80, 8, 8)), 0, 255).astype(np.uint8))
    save(folder / "neg", [builders.smooth_noise(rng, 40, 50) for _ in range(12)])
    save(folder / "more", [builders.smooth_noise(rng, 40, 50) for _ in range(3)])
    train(folder / "pos", folder / "neg", folder / "old", SETTINGS, window=WINDOW)
    return folder


@pytest.fixture
def go_on(pictures, tmp_path):
    """Return `go_on(base, **options) -> Cascade`: train into `tmp_path / "new"`."""

    def call(base, settings=LONGER, output="new", **options):
        sources = pictures / "pos", pictures / "neg", tmp_path / output
        return train(*sources, settings, continue_from=base, n_threads=1, **options)

    return call


def stages_text(path, n_stages):
    """Return what a file says of each of its first stages."""
    text = path.read_text().partition("<stages>")[2].partition("</stages>")[0]
    return [part.rstrip() for part in text.split("<!-- stage ")[1 : n_stages + 1]]


def assert_begins_with(cascade, base):
    for name in ("leaves", "stage_thresholds", "tree_starts", "stage_starts", "nodes", "features"):
        old, new = getattr(base, name), getattr(cascade, name)
        assert new[: len(old)].tobytes() == old.tobytes(), name


def test_stages_are_added_to_a_model_of_ours(pictures, go_on, tmp_path):
    path = pictures / "old" / MODEL_NAME
    old, before = Cascade.load(path), path.read_bytes()
    new = go_on(path)
    assert new.n_stages == 4
    assert_begins_with(new, old)
    assert stages_text(tmp_path / "new" / MODEL_NAME, 2) == stages_text(path, 2)
    assert path.read_bytes() == before
    assert new.metadata["stages"][:2] == old.metadata["stages"]
    assert [one["stage"] for one in new.metadata["stages"]] == [1, 2, 3, 4]
    told = new.metadata["continued"]
    assert (told["model"], told["stages"], told["without_record"]) == (MODEL_NAME, 2, 0)
    assert told["before"] == {name: old.metadata[name] for name in ("settings", "data")}


@pytest.mark.parametrize("kind", ["new", "old"])
def test_stages_are_added_to_a_model_of_others(pictures, go_on, tmp_path, kind):
    old = Cascade.load(pictures / "old" / MODEL_NAME).with_metadata({})
    save_cascade(old, tmp_path / "foreign.xml", kind)
    new = go_on(tmp_path / "foreign.xml")
    assert_begins_with(new, Cascade.load(tmp_path / "foreign.xml"))
    assert [one["stage"] for one in new.metadata["stages"]] == [3, 4]
    assert new.metadata["continued"]["without_record"] == 2
    again = go_on(None, replace(LONGER, max_stages=5), resume=True)
    assert [one["stage"] for one in again.metadata["stages"]] == [3, 4, 5]
    assert_begins_with(again, new)
    last = go_on(tmp_path / "new" / MODEL_NAME, replace(LONGER, max_stages=6), "newer")
    assert [one["stage"] for one in last.metadata["stages"]] == [3, 4, 5, 6]
    assert last.metadata["continued"]["without_record"] == 2
    assert last.metadata["continued"]["before"]["continued"]["stages"] == 2


class Interruption(Exception):  # noqa: N818  it is no error
    pass


@pytest.mark.parametrize("kind", [StageBegun, StageDone])
@pytest.mark.parametrize("named_again", [False, True])
def test_an_interrupted_run_goes_on(pictures, go_on, tmp_path, kind, named_again):
    path = pictures / "old" / MODEL_NAME
    go_on(path, output="whole")

    def stop(event):
        if isinstance(event, kind):
            raise Interruption

    with pytest.raises(Interruption):
        go_on(path, listener=stop)
    assert Cascade.load(tmp_path / "new" / MODEL_NAME).n_stages == (2 if kind is StageBegun else 3)
    go_on(path if named_again else None, resume=True)
    assert (tmp_path / "new" / MODEL_NAME).read_bytes() == (tmp_path / "whole" / MODEL_NAME).read_bytes()


def test_stages_are_added_to_a_model_with_lbp_features(pictures, go_on, tmp_path):
    lbp = replace(LONGER, features=FeatureType.LBP)
    whole = go_on(None, lbp, output="whole", window=WINDOW)
    base = tmp_path / "base" / MODEL_NAME
    go_on(None, replace(lbp, max_stages=2), output="base", window=WINDOW)
    new = go_on(base, lbp)
    assert (new.feature_type, new.n_stages) == (FeatureType.LBP, 4)
    assert_begins_with(new, Cascade.load(base))
    assert new.metadata["stages"][:2] == whole.metadata["stages"][:2]
    go_on(base, replace(lbp, max_stages=3), output="again")
    go_on(None, lbp, output="again", resume=True)
    assert (tmp_path / "again" / MODEL_NAME).read_bytes() == (tmp_path / "new" / MODEL_NAME).read_bytes()
    with pytest.raises(SettingsError, match=r"its features are LBP, not HAAR; set features to lbp"):
        go_on(base, output="haar")


def test_a_target_that_was_met_does_not_end_it(pictures, go_on):
    settings = replace(LONGER, target_false_alarm_rate=1.0)
    assert go_on(pictures / "old" / MODEL_NAME, settings).n_stages == 3


def test_further_photos_all_serve_training(pictures, go_on, tmp_path):
    events = []
    go_on(
        pictures / "old" / MODEL_NAME,
        more_negatives=[pictures / name for name in ("more", "neg", "more")],
        listener=events.append,
    )
    begun, notes = events[0], []
    for event in events:
        begun = event if hasattr(event, "counts") else begun
        notes.append(getattr(event, "text", ""))
    assert begun.sources == {
        "positives": str(pictures / "pos"),
        "negatives": str(pictures / "neg"),
        "more_negatives": [str(pictures / name) for name in ("more", "neg", "more")],
        "continue_from": str(pictures / "old" / MODEL_NAME),
    }
    assert begun.counts["held_out_photos"] == 2
    assert begun.counts["photos"] == 10 + 3
    for n, name in ((12, "neg"), (3, "more")):
        assert any(f"{n} photos of {pictures / name} are in the folders before it" in one for one in notes)
    data = Cascade.load(tmp_path / "new" / MODEL_NAME).metadata["data"]
    assert (data["photos"], data["more_photos"]) == (12, 3)
    with pytest.raises(SettingsError, match=r"data\.more_photos: 3 in the model, None now"):
        go_on(None, resume=True)


def test_further_photos_need_no_model_to_continue(pictures, go_on, tmp_path):
    go_on(None, replace(SETTINGS, max_stages=1), more_negatives=[pictures / "more"], window=WINDOW)
    assert Cascade.load(tmp_path / "new" / MODEL_NAME).metadata["data"]["more_photos"] == 3


def test_what_does_not_fit_is_refused(pictures, go_on, tmp_path, rng):
    path = pictures / "old" / MODEL_NAME
    with pytest.raises(
        SettingsError, match=r"cascade\.xml has 2 stages already, and max_stages 2 counts them"
    ):
        go_on(path, SETTINGS)
    with pytest.raises(
        SettingsError, match="window 9x9 differs from the window of the model to continue, 8x8"
    ):
        go_on(path, window=Size(9, 9))
    builders.random_cascade(rng, WINDOW, kind=FeatureType.LBP).save(tmp_path / "lbp.xml")
    with pytest.raises(SettingsError, match=r"lbp\.xml cannot be continued: its features are LBP"):
        go_on(tmp_path / "lbp.xml")
    assert not (tmp_path / "new").exists()


def test_another_model_cannot_be_continued_by_a_resumed_run(pictures, go_on, tmp_path):
    go_on(pictures / "old" / MODEL_NAME, replace(LONGER, max_stages=3))
    builders.accept_all(WINDOW, 2).save(tmp_path / "other.xml")
    with pytest.raises(SettingsError, match=r"does not continue the model other\.xml but cascade\.xml"):
        go_on(tmp_path / "other.xml", resume=True)


def test_damaged_provenance_is_refused(pictures, go_on, tmp_path):
    go_on(pictures / "old" / MODEL_NAME, replace(LONGER, max_stages=3))
    path = tmp_path / "new" / MODEL_NAME
    cascade = Cascade.load(path)
    for damage in ("gone", {}, {"stages": "two", "without_record": 0}, {"stages": 9, "without_record": 0}):
        cascade.with_metadata({**cascade.metadata, "continued": damage}).save(path)
        with pytest.raises(SettingsError, match="cannot be resumed"):
            go_on(None, resume=True)


def test_changed_models_are_not_resumed_but_continued(pictures, go_on, tmp_path):
    go_on(pictures / "old" / MODEL_NAME, replace(LONGER, max_stages=3))
    path = tmp_path / "new" / MODEL_NAME
    cut = Cascade.load(path).first_stages(2)
    cut.save(path)
    with pytest.raises(SettingsError, match="cannot be resumed: its stages or thresholds were changed"):
        go_on(None, resume=True)
    cut.save(tmp_path / "cut.xml")
    assert BaseModel.load(tmp_path / "cut.xml", FeatureType.HAAR).origin["before"][CHANGES] == [
        {"first_stages": 2, "of": 3}
    ]
