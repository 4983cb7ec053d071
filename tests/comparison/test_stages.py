"""Comparisons on pictures: stage datasets, resume, the same numbers however they are computed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import builders
import numpy as np
import pytest
from easy_pictures import save

from vjcascade import Cascade, Size, imaging
from vjcascade.comparison import Comparison, Design, StagePlan, compare_stages, runner as module, stages
from vjcascade.comparison.run_cache import RUNS_NAME
from vjcascade.comparison.stage_datasets import Split
from vjcascade.comparison.statistics import interval
from vjcascade.errors import MissingLibraryError, SettingsError, SourceError
from vjcascade.training.data import reading
from vjcascade.training.data.positives import load_positives
from vjcascade.training.events import Note, Progress

WINDOW = Size(8, 8)
DESIGN = Design(boosters=("adaboost", "cost-generalized"), costs=(1, 5), n_rounds=4, n_seeds=2, hit_rate=0.95)
PLAN = StagePlan(n_stages=2, n_samples=40, n_features=60)


def crop(rng):
    halves = np.where(np.arange(8) < 4, 170, 90) + rng.normal(0, 45, (8, 8))
    return np.clip(halves, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("pictures")
    save(folder / "pos", [crop(rng) for _ in range(100)])
    save(folder / "neg", [rng.integers(0, 256, (40, 50)).astype(np.uint8) for _ in range(18)])
    return folder


@pytest.fixture
def run(pictures, tmp_path):
    """Return `run(design, plan, **options)`, which compares in a folder of the test's own."""

    def call(design=DESIGN, plan=PLAN, *, folder="out", **options):
        return compare_stages(
            pictures / "pos",
            pictures / "neg",
            tmp_path / folder,
            design,
            plan,
            **{"window": WINDOW, **options},
        )

    return call


def test_a_missing_opencv_is_said_before_pictures_are_read(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    monkeypatch.setattr(reading, "opencv", imaging.opencv.__wrapped__)
    with pytest.raises(MissingLibraryError, match="opencv-python-headless"):
        run()
    assert not (tmp_path / "out").exists()


def untimed(comparison):
    """Return all that a comparison tells, but for the seconds."""
    values = comparison.as_dict()
    for cell in values["cells"]:
        del cell["seconds"]
    return values


def test_every_cell_is_there_and_learns(run):
    comparison = run()
    assert comparison.is_complete
    assert [dataset.name for dataset in comparison.datasets] == ["stage 1", "stage 2"]
    assert comparison.datasets[0].pass_rate > comparison.datasets[1].pass_rate
    assert (comparison.values("auc") > 0.55).all()
    assert np.isfinite(comparison.values("cost")).all()
    natural = next(i for i, entry in enumerate(comparison.entries) if entry.name.endswith("natural"))
    assert comparison.curves(0, natural, "hit_rate").shape == (2, 4)


def test_threads_and_interruptions_change_no_number(run, tmp_path, monkeypatch):
    whole = run(n_threads=1)

    n_left = iter(range(5))

    def boosted(*arguments):
        if next(n_left, None) is None:
            raise KeyboardInterrupt
        return boost(*arguments)

    boost = module.boost_run
    monkeypatch.setattr(module, "boost_run", boosted)
    with pytest.raises(KeyboardInterrupt):
        run(folder="again", n_threads=2)
    monkeypatch.setattr(module, "boost_run", boost)
    lines = (tmp_path / "again" / RUNS_NAME).read_bytes()
    assert lines.count(b"\n") == 6
    resumed = run(folder="again", n_threads=2, resume=True)
    assert (tmp_path / "again" / RUNS_NAME).read_bytes().startswith(lines)  # what was there is not done again
    assert untimed(resumed) == untimed(whole)


def test_damaged_results_are_found_again(run, tmp_path):
    design = Design(boosters=("adaboost",), costs=(1,), n_rounds=2, n_seeds=1)
    plan = StagePlan(n_stages=1, n_samples=40, n_features=20)
    whole = run(design, plan)
    path = tmp_path / "out" / RUNS_NAME
    head, *lines = map(json.loads, path.read_bytes().splitlines())
    for result in lines[0]["results"].values():
        del result["auc"]
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)))
    assert untimed(run(design, plan, resume=True)) == untimed(whole)


def test_the_reference_is_overwritten_as_well(run):
    few = StagePlan(n_stages=2, n_samples=30, n_features=20)
    design = Design(boosters=("adaboost",), costs=(1,), n_rounds=2, n_seeds=1)
    first = run(design, few, folder="first")
    run(design, StagePlan(n_stages=2, n_samples=40, n_features=20))
    assert untimed(run(design, few, overwrite=True)) == untimed(first)


def test_another_reference_of_the_same_name_is_refused(run, tmp_path):
    design = Design(boosters=("adaboost",), costs=(1,), n_rounds=2, n_seeds=1)
    plan = StagePlan(n_stages=1, n_samples=40, n_features=20)
    path = tmp_path / "model.xml"
    builders.accept_all(WINDOW).save(path)
    run(design, plan, reference=path)
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(SettingsError, match="other contents: reference"):
        run(design, plan, reference=path, resume=True)


def test_numbers_survive_json(run):
    comparison = run()
    again = Comparison.from_dict(json.loads(json.dumps(comparison.as_dict())))
    assert again.as_dict() == comparison.as_dict()
    assert np.array_equal(again.values("weak"), comparison.values("weak"), equal_nan=True)


def test_stages_can_be_added_later(run, tmp_path):
    run(plan=replace(PLAN, n_stages=1))
    before = (tmp_path / "out" / RUNS_NAME).read_bytes()
    longer = run(resume=True)
    assert (tmp_path / "out" / RUNS_NAME).read_bytes().startswith(before)
    assert untimed(longer) == untimed(run(folder="fresh"))


def test_boosters_can_be_added_later(run, monkeypatch):
    run()
    done = []
    boost = module.boost_run
    monkeypatch.setattr(
        module, "boost_run", lambda trial, one, n: done.append(one.name) or boost(trial, one, n)
    )
    more = Design(boosters=("adaboost", "csb2"), costs=(1, 5), n_rounds=4, n_seeds=3, hit_rate=0.95)
    comparison = run(more, resume=True)
    assert comparison.is_complete
    assert sorted(done) == sorted([*["csb2 1:1", "csb2 5:1"] * 6, *["adaboost"] * 2])


def test_a_booster_against_itself_shows_no_difference(run):
    design = Design(boosters=("csb2", "csb2"), costs=(5,), n_rounds=4, n_seeds=2, hit_rate=0.95)
    comparison = run(design)
    half = len(comparison.entries) // 2
    for measure in ("weak", "cost", "auc", "false_alarm_rate", "calibration_error"):
        values = comparison.values(measure)
        assert np.array_equal(values[:, :half], values[:, half:])


def test_shuffled_labels_end_at_chance(run):
    """In every column: nothing is learnt, so nothing is better than a decision without looking."""
    design = Design(boosters=("adaboost",), costs=(1, 5), n_rounds=8, n_seeds=8, sanity=True, hit_rate=0.95)
    comparison = run(design, StagePlan(n_stages=1, n_samples=50, n_features=60))
    (dataset,) = comparison.datasets
    for number, entry in enumerate(comparison.entries):
        measures = ("auc", "hit_rate", "false_alarm_rate", "cost")
        values = {measure: comparison.values(measure)[0, number] for measure in measures}
        band = interval(values["auc"], dataset.test_share)
        if entry.contender.shuffled:
            assert band.low <= 0.5 <= band.high
            assert values["cost"].mean() > 0.8 * min(0.5, 1 / (1 + entry.costs.ratio))
            assert abs(values["hit_rate"].mean() - values["false_alarm_rate"].mean()) < 0.2
        else:
            assert band.low > 0.6


def test_a_reference_decides_what_reaches_a_stage(run, pictures, tmp_path):
    run(folder="first")
    model = tmp_path / "first" / "reference" / "cascade.xml"
    reference = Cascade.load(model)
    assert reference.n_stages == 1
    notes = []
    comparison = run(reference=model, window=None, listener=notes.append)
    assert comparison.datasets[1].n_positives <= comparison.datasets[0].n_positives
    assert not (tmp_path / "out" / "reference").exists()
    totals = {
        (event.done, event.total)
        for event in notes
        if isinstance(event, Progress) and event.part == "comparing"
    }
    assert max(totals) == (12, 12)


def test_too_few_negatives_end_the_stages(run):
    notes = []
    plan = StagePlan(n_stages=5, n_samples=40, n_features=60, max_windows=20_000)
    comparison = run(
        plan=plan, listener=lambda event: notes.append(event.text) if isinstance(event, Note) else None
    )
    assert comparison.is_complete
    assert len(comparison.datasets) < 5
    assert f"the comparison ends with stage {len(comparison.datasets)}" in " ".join(notes)


def test_independent_draws_have_no_crop_and_no_photo_in_common(run, monkeypatch):
    problems = []
    compare = stages.compare

    def watched(kind, datasets, *arguments, **keywords):
        problems.extend(datasets)
        return compare(kind, iter(problems), *arguments, **keywords)

    monkeypatch.setattr(stages, "compare", watched)
    comparison = run(plan=StagePlan(n_stages=2, n_samples=20, n_features=40, n_draws=2))
    assert comparison.is_complete
    for dataset, (problem, _) in zip(comparison.datasets, problems, strict=True):
        assert dataset.independent
        assert dataset.test_share == 0
        splits = [problem.split((0, draw)) for draw in range(2)]
        parts = [np.concatenate([one.train, one.tune, one.test]) for one in splits]
        assert not set(parts[0]) & set(parts[1])
        assert not set(problem.groups[parts[0]]) & set(problem.groups[parts[1]])
        windows = [{problem.integrals.corners[:, i].tobytes() for i in part} for part in parts]
        assert not windows[0] & windows[1]
        for one in splits:
            assert set(problem.labels[one.train]) == {1, -1}
    reloaded = Comparison.from_dict(json.loads(json.dumps(comparison.as_dict())))
    assert reloaded.datasets == comparison.datasets


def test_the_reference_learns_from_other_crops_and_photos_than_draws_have(pictures):
    groups = np.repeat(np.arange(30), 2)
    positives = load_positives(pictures / "pos", WINDOW)
    positives = replace(
        positives,
        windows=positives.windows[:60],
        names=positives.names[:60],
        groups=groups,
        sizes=positives.sizes[:60],
    )
    plan = StagePlan(n_stages=2, n_samples=20, n_draws=4)
    parts = Split.of(positives, 18, plan, has_reference=False)
    assert np.bincount(parts.crops + 1).tolist() == [12] * 5
    for group in range(30):
        assert len(set(parts.crops[groups == group])) == 1
    dealt = np.sort(np.concatenate([*parts.photos, parts.photos_for_reference]))
    assert dealt.tolist() == list(range(18))
    kept = parts.reference_crops(positives)
    assert set(kept.names) == {positives.names[i] for i in np.flatnonzero(parts.crops == -1)}
    given = Split.of(positives, 18, plan, has_reference=True)
    assert np.bincount(given.crops).tolist() == [16, 16, 14, 14]
    assert given.reference_crops(positives) is positives


def test_more_draws_than_pictures_are_refused(run):
    with pytest.raises(
        SettingsError, match="100 pictures of the object and 18 photos are too few for 21 disjoint parts"
    ):
        run(replace(DESIGN, n_seeds=20), replace(PLAN, n_draws=20))
    with pytest.raises(SettingsError, match="n_seeds 2 is more than n_draws 1: each seed needs a draw"):
        run(plan=replace(PLAN, n_draws=1), folder="other")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"plan": StagePlan(n_stages=4), "reference": "model"},
            "n_stages 4 is more than the reference allows",
        ),
        (
            {"window": (10, 10), "reference": "model"},
            "window 10x10 differs from the window of the reference, 8x8",
        ),
        ({"resume": True, "design": Design(boosters=("adaboost",), n_rounds=9)}, "n_rounds: 4 there, 9 now"),
        ({}, "already holds a comparison"),
    ],
)
def test_misuse_is_met_with_a_sentence(run, tmp_path, options, message):
    run()
    if "reference" in options:
        options = {**options, "reference": tmp_path / "out" / "reference" / "cascade.xml", "folder": "new"}
    with pytest.raises(SettingsError, match=message):
        run(**options)


@pytest.mark.parametrize("wrong", [{"n_stages": 0}, {"n_samples": 3}, {"n_features": 0}])
def test_plans_that_cannot_be_are_refused(wrong):
    with pytest.raises(
        SettingsError,
        match=f"{next(iter(wrong))} {next(iter(wrong.values()))} is not a whole number, at least",
    ):
        StagePlan(**wrong)


def test_photos_without_contrast_are_no_negatives(pictures, tmp_path):
    save(tmp_path / "flat", [np.full((40, 50), 99 + i, np.uint8) for i in range(16)])
    with pytest.raises(SettingsError, match=r"stage 1: .* and 0 negatives reach it"):
        compare_stages(
            pictures / "pos",
            tmp_path / "flat",
            tmp_path / "out",
            DESIGN,
            StagePlan(n_stages=1),
            window=WINDOW,
        )


def test_pictures_that_are_not_there(tmp_path, pictures):
    with pytest.raises(SourceError, match="does not exist"):
        compare_stages(tmp_path / "no", pictures / "neg", tmp_path / "out", DESIGN, PLAN)


def test_what_a_killed_run_left_beside_the_reference_is_removed(run, tmp_path):
    run()
    left = [tmp_path / "out" / place / ".vjcascade-0123456789abcdef.tmp" for place in (".", "reference")]
    for path in left:
        path.touch()
    run(resume=True)
    assert not any(path.exists() for path in left)
