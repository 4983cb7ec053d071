"""The page of an inspection: whole, safe whatever the file says, and it shows every stage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import builders
import doubles
import numpy as np
import pytest
from model_files import lbp_cascade
from pages import HOSTILE, checked

from vjcascade.imaging import write_image
from vjcascade.inspection import inspect_model, scan_pictures
from vjcascade.inspection.stage_facts import stage_facts
from vjcascade.report.inspection import FEATURES_SHOWN, build_inspection_page
from vjcascade.report.inspection_charts import range_drawing, votes_drawing
from vjcascade.report.page import MAX_CHARTED
from vjcascade.report.training_run import Run, open_run
from vjcascade.training.history import History, HistoryWriter
from vjcascade.types import FeatureType, Size


def page_of(cascade, scan=None, settings=None, history=None, metadata=None):
    run = Run(Path("m.xml"), cascade, {}, history or History(), None, metadata or {})
    inspection = inspect_model("m.xml", cascade, scan)
    return checked(build_inspection_page(inspection, run, settings)), inspection


@pytest.mark.parametrize("kind", FeatureType)
def test_a_page_with_pictures(rng, tmp_path, kind):
    write_image(tmp_path / "a.png", builders.smooth_noise(rng, 40, 50))
    cascade = builders.random_cascade(rng, kind=kind, stages=(3, 9), tree_share=0.5, tilted_share=0.3)
    scan = scan_pictures(cascade, [tmp_path / "a.png"])
    page, inspection = page_of(cascade, scan, {"boostType": "GAB"})
    for words in (*(one.sentence for one in inspection.oddities), str(scan), "boostType", "8 of 9"):
        assert words in page.text
    assert f"{scan.costs.rejected[1]:.1%} of {scan.costs.n_reached[1]:,}" in page.text
    assert f"{scan.costs.mean_features:.2f}" in page.text
    # The mean, two charts; for each stage, its range, and two drawings for each of the features shown.
    assert page.tags.count("svg") == 1 + 2 + 2 + 2 * (3 + FEATURES_SHOWN)


def test_a_trained_run_shows_its_mean_and_its_record(tmp_path):
    with HistoryWriter(tmp_path / "cascade.xml", pytest.fail) as writer:
        doubles.small_run(tmp_path, replace(doubles.SETTINGS, max_stages=2), listener=writer)
    run = open_run(tmp_path)
    page = checked(build_inspection_page(inspect_model("m", run.cascade), run))
    assert sum(address.startswith("data:") for address in page.addresses) == 1
    assert "on the mean of the positives" in page.text
    assert "target false alarm rate" in page.text
    assert "AdaBoost" in page.text


def test_models_without_stages_and_with_very_many():
    page, _ = page_of(builders.accept_all(n_stages=1).first_stages(0))
    assert "The model has no stages" in page.text
    page, _ = page_of(builders.accept_all(n_stages=MAX_CHARTED + 3))
    assert "3 more stages are left out" in page.text


def test_hostile_words_are_escaped(rng):
    cascade = builders.random_cascade(rng)
    page, _ = page_of(cascade, settings={HOSTILE: HOSTILE}, metadata={"data": {HOSTILE: HOSTILE}})
    assert page.text.count(HOSTILE) == 4


def test_hostile_numbers_are_drawn():
    for cascade in (lbp_cascade(), builders.accept_all(Size(256, 256), 1)):
        for scale in (0.0, 3e38, 1e-45):
            leaves = (cascade.leaves * 0 + np.float32(scale)).astype(np.float32)
            page_of(
                replace(cascade, leaves=leaves, stage_thresholds=cascade.stage_thresholds * np.float32(0))
            )


def test_votes_say_which_windows_come_first(rng):
    cascade = builders.random_cascade(rng, stages=(1,))
    drawn = votes_drawing(cascade, 0, 2.0)
    assert f"&lt; {cascade.nodes['threshold'][0]:.3g}" in drawn
    for leaf in cascade.leaves:
        assert f">{leaf:.2g}<" in drawn
    assert "0 of 256 codes" in votes_drawing(lbp_cascade(), 1, 1.0)


def test_small_votes_fit_into_the_drawing(rng):
    cascade = builders.random_cascade(rng, stages=(1,))
    cascade = replace(cascade, leaves=np.full_like(cascade.leaves, -0.000224))
    assert ">-2e-04<" in votes_drawing(cascade, 0, 2.0)


@pytest.mark.parametrize(("threshold", "x"), [(-1e9, 4), (0, None), (1e9, 426)])
def test_a_threshold_out_of_the_range_is_drawn_at_its_end(rng, threshold, x):
    cascade = builders.random_cascade(rng, stages=(4,))
    cascade = replace(cascade, stage_thresholds=np.array([threshold], np.float32))
    drawn = range_drawing(stage_facts(cascade)[0])
    assert f"threshold {threshold:.4g}" in drawn
    if x is not None:
        assert f'<text x="{x}" y="11"' in drawn
