"""Scenes given to validate with: what is measured, when training ends, which stages are used; before and after."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import builders
import doubles
import msgspec
import numpy as np
import pytest
from easy_pictures import save
from hypothesis import given, strategies as st
from PIL import Image

from vjcascade import Cascade, TrainingSettings, imaging, train
from vjcascade.cascade import OPERATING_POINT
from vjcascade.detection import Detector
from vjcascade.errors import SettingsError, SourceError
from vjcascade.evaluation import OperatingPoint, detection_curve, match_detections, read_scenes
from vjcascade.evaluation.curves import BestF1
from vjcascade.evaluation.scenes import Scenes
from vjcascade.training import validation
from vjcascade.training.events import Ended, Note, RunBegun, SceneFigures, StageDone
from vjcascade.training.gains import (
    PATIENCE,
    BaseFigures,
    best_figures,
    operating_point,
    scene_figures,
    why_no_longer_gains,
)

SETTINGS = TrainingSettings(
    n_negatives=100, max_stages=3, max_weak=3, copies=0, hit_rate=0.97, baseline=False
)
SIDE = 16


class Interruption(Exception):  # noqa: N818  it is no error
    """In the place of Ctrl-C."""


def objects(rng, side=8, n=1):
    """Return noisy pictures of the object: bright on the left."""
    pattern = np.where(np.arange(side) < side // 2, 40, -40)
    return np.clip(rng.normal(128 + pattern, 25, (n, side, side)), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Return a folder with crops in `pos`, photos in `neg`, and six scenes with two objects each."""
    folder, rng = tmp_path_factory.mktemp("validate"), np.random.default_rng(440)
    save(folder / "pos", objects(rng, n=120))
    save(folder / "neg", [builders.smooth_noise(rng, 60, 70) for _ in range(10)])
    save(folder / "more", [builders.smooth_noise(rng, 60, 70) for _ in range(6)])
    scenes, lines = [], []
    for number in range(6):
        scene = builders.smooth_noise(rng, 70, 80) // 2 + 64
        for x, y in ((8, 9), (50, 45)):
            scene[y : y + SIDE, x : x + SIDE] = objects(rng, SIDE)[0]
        scenes.append(scene)
        lines.append(f"scenes/{number:03}.png 2 8 9 {SIDE} {SIDE} 50 45 {SIDE} {SIDE}\n")
    save(folder / "scenes", scenes)
    (folder / "scenes.txt").write_text("".join(lines))
    return folder


def run(pictures, output, settings=SETTINGS, *, listener=None, scenes="scenes.txt", **options):
    """Train; return the model's bytes, and all events."""
    events = []

    def listen(event):
        events.append(event)
        if listener is not None:
            listener(event)

    if scenes:
        options["validate"] = pictures / scenes
    sources = pictures / "pos", pictures / "neg"
    train(*sources, output, settings, window=(8, 8), listener=listen, **{"n_threads": 1, **options})
    return (output / "cascade.xml").read_bytes(), events


def ended(events):
    return next(event.text for event in events if isinstance(event, Ended))


@pytest.fixture(scope="module")
def whole(pictures, tmp_path_factory):
    """Return the folder, the bytes and the events of a run that ends when stages no longer gain."""
    output = tmp_path_factory.mktemp("whole") / "model"
    return output, *run(pictures, output, replace(SETTINGS, max_stages=9))


@pytest.fixture(scope="module")
def short(pictures, tmp_path_factory):
    """Return the model of a run of two stages, and a function that goes on with it."""
    base = tmp_path_factory.mktemp("short") / "model"
    run(pictures, base, replace(SETTINGS, max_stages=2))
    longer = replace(SETTINGS, max_stages=4, max_weak=8)

    def go_on(output, **options):
        return run(pictures, output, longer, **options)

    return base / "cascade.xml", go_on


def test_a_stage_is_measured_as_a_detector_finds(pictures, whole):
    cascade = Cascade.load(whole[0] / "cascade.xml")
    scenes = read_scenes(pictures / "scenes.txt").scenes
    records = [event.record for event in whole[2] if isinstance(event, StageDone)]
    assert len(records) == cascade.n_stages >= PATIENCE
    for record in records:
        figures, part = record.scenes, cascade.first_stages(record.stage)
        judged = {}
        for min_neighbors in (1, 3):
            detector = Detector(part, min_neighbors=min_neighbors)
            found = [detector.detect(imaging.read_image(scene.path)) for scene in scenes]
            judged[min_neighbors] = [
                match_detections(one.boxes, one.ranking_scores, scene.boxes)
                for one, scene in zip(found, scenes, strict=True)
            ]
        assert (figures.n_stages, figures.n_scenes, figures.n_objects) == (record.stage, 6, 12)
        assert figures.n_hits == sum(one.hits.sum() for one in judged[3])
        assert figures.n_false_alarms == sum(one.false_alarms.sum() for one in judged[3])
        assert figures.best.f1 == pytest.approx(float(BestF1().of(detection_curve(judged[1]))))
        n_kept = sum((one.scores >= figures.min_ranking_score).sum() for one in judged[1])
        assert n_kept == figures.best_hits + figures.best_false_alarms
    assert any(record.scenes.n_hits for record in records)


def test_training_ends_where_it_no_longer_gains_and_keeps_the_best(whole):
    output, _, events = whole
    cascade = Cascade.load(output / "cascade.xml")
    f1 = [event.record.scenes.best.f1 for event in events if isinstance(event, StageDone)]
    best = max(range(len(f1)), key=lambda i: (f1[i], i)) + 1
    assert len(f1) == f1.index(max(f1)) + 1 + PATIENCE < 9
    point = OperatingPoint.of(cascade)
    assert (point.n_stages, point.min_neighbors) == (best, 1)
    assert point.detector(cascade).cascades[0].n_stages == best < cascade.n_stages
    text = ended(events)
    assert f"has not improved for {PATIENCE} stages" in text
    figures = [event.record.scenes for event in events if isinstance(event, StageDone)]
    assert (
        f"best with {best} of its {len(f1)} stages: {figures[best - 1].best}; with all of them: {figures[-1].best}"
    ) in text


def test_what_detect_uses_reaches_the_figure(pictures, whole):
    cascade = Cascade.load(whole[0] / "cascade.xml")
    detector = OperatingPoint.of(cascade).detector(cascade)
    best = best_figures(scene_figures([e.record for e in whole[2] if isinstance(e, StageDone)]))
    n_hits = n_false = 0
    for scene in read_scenes(pictures / "scenes.txt").scenes:
        found = detector.detect(imaging.read_image(scene.path))
        judged = match_detections(found.boxes, found.ranking_scores, scene.boxes)
        n_hits, n_false = n_hits + judged.hits.sum(), n_false + judged.false_alarms.sum()
    assert (n_hits, n_false) == (best.best_hits, best.best_false_alarms)


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_an_interrupted_run_goes_on_with_the_same_bytes(pictures, whole, tmp_path, stage):
    def stop(event):
        if isinstance(event, StageDone) and event.record.stage == stage:
            raise Interruption

    longer = replace(SETTINGS, max_stages=9)
    with pytest.raises(Interruption):
        run(pictures, tmp_path / "out", longer, listener=stop)
    data, events = run(pictures, tmp_path / "out", longer, resume=True)
    assert data == whole[1]
    assert ended(events) == ended(whole[2])


def test_threads_do_not_matter(pictures, whole, tmp_path):
    longer = replace(SETTINGS, max_stages=9)
    assert run(pictures, tmp_path / "out", longer, n_threads=3)[0] == whole[1]


def test_scenes_change_no_stage(pictures, whole, tmp_path):
    run(pictures, tmp_path / "out", replace(SETTINGS, max_stages=4), scenes=None)
    plain = Cascade.load(tmp_path / "out" / "cascade.xml")
    n = min(4, Cascade.load(whole[0] / "cascade.xml").n_stages)
    validated = Cascade.load(whole[0] / "cascade.xml").first_stages(n)
    assert plain.first_stages(n).leaves.tolist() == validated.leaves.tolist()
    assert OPERATING_POINT not in plain.metadata
    assert all("scenes" not in record for record in plain.metadata["stages"])


def test_a_resumed_run_needs_the_same_scenes(pictures, tmp_path):
    run(pictures, tmp_path / "out")
    longer = replace(SETTINGS, max_stages=4)
    with pytest.raises(SettingsError, match="scenes: 6 in the model, None now"):
        run(pictures, tmp_path / "out", longer, scenes=None, resume=True)
    scenes = read_scenes(pictures / "scenes.txt")
    moved = replace(scenes.scenes[0], boxes=scenes.scenes[0].boxes + 1)
    others = Scenes(scenes.source, (moved, *scenes.scenes[1:]))
    with pytest.raises(
        SettingsError, match="scenes are as many as before, but pictures or boxes or their order"
    ):
        run(pictures, tmp_path / "out", longer, scenes=None, validate=others, resume=True)


@pytest.mark.parametrize(("kind", "what"), [("pos", "a training crop"), ("neg", r"the photo 003\.png")])
def test_scenes_that_training_sees_are_refused(pictures, tmp_path, kind, what):
    seen = imaging.read_gray(pictures / kind / "003.png")
    Image.fromarray(seen).save(tmp_path / "seen.bmp")
    lines = f"seen.bmp 1 0 0 8 8\n{pictures / 'scenes' / '000.png'} 1 8 9 16 16\n"
    (tmp_path / "scenes.txt").write_text(lines)
    sentence = rf"(?s)1 scene of .* is also among the training pictures.*seen\.bmp: the same pixels as {what}"
    with pytest.raises(SourceError, match=sentence):
        run(pictures, tmp_path / "out", scenes=None, validate=tmp_path / "scenes.txt")
    assert not (tmp_path / "out" / "cascade.xml").exists()


def test_scenes_wait_until_few_windows_pass(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(validation, "MAX_EXPECTED", 200)
    _, events = run(pictures, tmp_path / "out")
    records = [event.record for event in events if isinstance(event, StageDone)]
    assert records[0].scenes is None
    assert records[-1].scenes is not None
    notes = [event.text for event in events if isinstance(event, Note)]
    assert sum("too many windows of the scenes still pass" in note for note in notes) == 1


def test_scenes_that_no_model_can_be_tried_on(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(validation, "MAX_WINDOWS", 0)
    _, events = run(pictures, tmp_path / "out")
    assert "The model could not be measured on the scenes" in ended(events)
    assert OPERATING_POINT not in Cascade.load(tmp_path / "out" / "cascade.xml").metadata


def test_what_is_no_scenes_is_refused_before_a_picture_is_read(tmp_path):
    with pytest.raises(SettingsError, match="validate 3 is neither a path nor Scenes"):
        train(tmp_path / "no", tmp_path / "not", tmp_path / "out", validate=3)
    with pytest.raises(SourceError, match=r"missing\.txt does not exist"):
        train(tmp_path / "no", tmp_path / "not", tmp_path / "out", validate=tmp_path / "missing.txt")


def test_the_label_chooses_among_the_kinds_of_the_scenes(pictures, tmp_path):
    """The kind to train on is the one to be found; scenes that name no kinds are taken as they are."""
    kinds = tmp_path / "scenes.csv"
    names = [pictures / "scenes" / f"{number:03}.png" for number in range(6)]
    lines = [f"{name},{kind}\n" for name in names for kind in ("8,9,16,16,square", "30,2,9,9,other")]
    kinds.write_text("file,x,y,w,h,class\n" + "".join(lines))
    settings = replace(SETTINGS, max_stages=1)
    with pytest.raises(SourceError, match=r"2 kinds \(other, square\); choose one with --label"):
        run(pictures, tmp_path / "out", settings, scenes=None, validate=kinds)
    _, events = run(pictures, tmp_path / "out", settings, scenes=None, validate=kinds, label="square")
    notes = [event.text for event in events if isinstance(event, Note)]
    assert any("6 pictures with 6 objects" in note for note in notes)
    _, events = run(pictures, tmp_path / "list", settings, label="square")
    notes = [event.text for event in events if isinstance(event, Note)]
    assert any("6 pictures with 12 objects" in note for note in notes)


def test_continuing_says_what_it_changed_and_keeps_the_better(short, tmp_path):
    base, go_on = short
    data, events = go_on(tmp_path / "out", continue_from=base)
    old, cascade = Cascade.load(base), Cascade.load(tmp_path / "out" / "cascade.xml")
    figures = msgspec.convert(cascade.metadata["base"], BaseFigures)
    last = old.metadata["stages"][-1]
    assert figures.n_stages == old.n_stages
    assert figures.hit_rate == last["overall_held_out_hit_rate"]  # the same crops are held out
    assert 0 < figures.false_alarm_rate < 1
    used = OperatingPoint.of(old).n_stages
    assert [one.n_stages for one in figures.scenes] == sorted({used, old.n_stages})
    assert msgspec.to_builtins(figures.scenes[-1]) == last["scenes"]
    best = max(record["scenes"]["n_stages"] for record in cascade.metadata["stages"])
    assert best == cascade.n_stages
    reached = [
        msgspec.convert(record["scenes"], SceneFigures).best.f1 for record in cascade.metadata["stages"]
    ]
    point = OperatingPoint.of(cascade)
    assert reached[point.n_stages - 1] == max(reached)
    assert max(reached) >= msgspec.convert(last["scenes"], SceneFigures).best.f1
    text = ended(events)
    assert (
        f"Continued from {old.n_stages} stages to {cascade.n_stages}; held-out positives that pass: " in text
    )
    assert re.search(r"background windows that pass: about one in [\d,]+ before, one in [\d,]+ now", text)
    assert re.search(r"on the scenes, with default settings: recall .* before, recall .* now", text)
    assert "To go back" not in text  # it has the better of both

    def stop(event):
        if isinstance(event, RunBegun):
            raise Interruption

    with pytest.raises(Interruption):
        go_on(tmp_path / "stopped", continue_from=base, listener=stop)
    assert go_on(tmp_path / "stopped", resume=True)[0] == data


def test_what_detect_used_before_is_measured_too(short, tmp_path):
    base, go_on = short
    one = OperatingPoint(n_stages=1, min_neighbors=1)
    used = Cascade.load(base).with_metadata({OPERATING_POINT: one.as_dict()})
    used.save(tmp_path / "used.xml")
    go_on(tmp_path / "out", continue_from=tmp_path / "used.xml")
    metadata = Cascade.load(tmp_path / "out" / "cascade.xml").metadata
    assert [one["n_stages"] for one in metadata["base"]["scenes"]] == [1, 2]


def test_continuing_without_scenes_says_how_to_go_back(pictures, short, tmp_path):
    base, go_on = short
    more = [pictures / "more"]
    _, events = go_on(tmp_path / "out", scenes=None, continue_from=base, more_negatives=more)
    text = ended(events)
    assert "To go back: `vjcascade convert MODEL OLD.xml --stages 2`" in text
    said = re.search(
        r"windows of the additional photos, now trained on, that pass: (\d+) before, (\d+) now", text
    )
    cascade = Cascade.load(tmp_path / "out" / "cascade.xml")
    photos = [imaging.read_image(path) for path in (pictures / "more").iterdir()]
    detectors = [Detector(one, min_neighbors=0) for one in (Cascade.load(base), cascade)]
    found = [sum(len(one.detect(photo)) for photo in photos) for one in detectors]
    assert [int(n) for n in said.groups()] == found
    assert found[0] > 0
    assert OPERATING_POINT not in cascade.metadata  # the base's scenes say nothing of the new stage
    assert all("scenes" not in record for record in cascade.metadata["stages"])


def test_a_worse_continuation_is_not_used():
    base = BaseFigures(2, 0.9, scenes=[SceneFigures(2, 1, 10, 9, 1, 9, 1, 0.5)])
    worse = doubles.stage_record(3, scenes=SceneFigures(3, 1, 10, 5, 0, 5, 0, 0.25))
    assert operating_point([worse], base)["n_stages"] == 2
    better = doubles.stage_record(3, scenes=SceneFigures(3, 1, 10, 9, 0, 9, 0, 0.25))
    assert operating_point([better], base)["n_stages"] == 3
    assert operating_point([better], base)["min_ranking_score"] == 0.25


def records_of(hits):
    return [
        doubles.stage_record(i, scenes=None if n is None else SceneFigures(i, 1, 9, n, 0, n, 0, 0))
        for i, n in enumerate(hits, 1)
    ]


@pytest.mark.parametrize(
    ("hits", "n_continued", "ends"),
    [
        ([], 0, False),
        ([None] * 9, 0, False),
        ([3, 3, 3], 0, False),
        ([3, 3, 3, 3], 0, True),
        ([3, 2, 4, 2, 4], 0, False),
        ([3, 2, 4, 2, 4, 4], 0, True),
        ([None, 3, None, 2, 2], 0, False),
        ([5, 1, 1, 1], 2, False),  # a continued model gets its chance
        ([5, 1, 1, 1, 1], 2, True),
    ],
)
def test_when_training_ends(hits, n_continued, ends):
    assert bool(why_no_longer_gains(records_of(hits), None, n_continued)) == ends


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30))
def test_the_best_is_never_more_than_patience_before_the_end(hits):
    """Were training to end by this rule, no stage before the end is better than the one that is used."""
    n_trained = next(
        (n for n in range(1, len(hits) + 1) if why_no_longer_gains(records_of(hits[:n]), None, 0)), len(hits)
    )
    used = best_figures(scene_figures(records_of(hits[:n_trained])))
    assert used.best_hits == max(hits[:n_trained])
    assert n_trained - (hits.index(used.best_hits) + 1) <= PATIENCE


def test_old_records_and_damaged_figures():
    plain = json.loads(json.dumps(doubles.stage_record(1).as_dict()))
    assert "scenes" not in plain
    figures = SceneFigures(1, 2, 4, 3, 1, 4, 0, 0.5)
    record = doubles.stage_record(1, scenes=figures)
    assert msgspec.convert(record.as_dict(), type(record)) == record
    with pytest.raises(msgspec.ValidationError, match="more hits than the 2 objects"):
        msgspec.convert({**msgspec.to_builtins(figures), "n_objects": 2}, SceneFigures)
