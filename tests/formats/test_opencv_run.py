"""Interrupted runs of `opencv_traincascade`: `params.xml`, and stage files whose features are places in a pool."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
from conftest import SHARED_DATA
from model_files import spoiled
from opencv_runs import SETTINGS, pool_of, trained_cascade, write_run
from sample_cascades import assert_same

from vjcascade.errors import ModelError, ModelNotFoundError
from vjcascade.formats.cascade_files import dump_cascade, load_cascade, parse_cascade
from vjcascade.formats.opencv_run import read_opencv_run
from vjcascade.types import Size

WINDOW = Size(12, 10)
MODES = ("basic", "core", "all", None)


@pytest.fixture(params=MODES, ids=str)
def trained(request, rng, tmp_path):
    """Return the folder of a run, and the cascade that it has trained."""
    pool = pool_of(WINDOW, request.param)
    cascade = trained_cascade(rng, pool)
    return write_run(tmp_path / "data", cascade, request.param, pool), cascade


def test_stages_are_joined_as_opencv_joins_them(trained):
    folder, cascade = trained
    run = read_opencv_run(folder)
    assert_same(run.cascade, cascade)
    assert run.notes == ()
    assert (run.settings["width"], run.settings["height"]) == ("12", "10")
    assert run.settings["minHitRate"] == "0.995"
    assert run.settings["boostType"] == SETTINGS["boostType"]


def test_the_parameters_stand_for_the_model(trained):
    folder, cascade = trained
    assert_same(load_cascade(folder / "params.xml"), cascade)
    with pytest.raises(ModelError, match=r"3 stages of opencv_traincascade .*: give .*params\.xml"):
        load_cascade(folder)


def test_the_first_missing_stage_ends_it(trained):
    folder, cascade = trained
    (folder / "stage1.xml").unlink()
    run = read_opencv_run(folder)
    assert_same(run.cascade, cascade.first_stages(1).without_unused_features().with_metadata({}))
    assert run.notes == (
        f"there is no stage1.xml: 1 stage file with a higher number in {folder} are ignored",
    )


def test_a_run_without_a_stage(trained):
    folder, cascade = trained
    for file in folder.glob("stage*"):
        file.unlink()
    run = read_opencv_run(folder)
    assert (run.cascade.n_stages, run.cascade.window) == (0, cascade.window)
    assert run.cascade.feature_type == cascade.feature_type
    with pytest.raises(ModelError, match=r"no stage0\.xml beside it"):
        load_cascade(folder / "params.xml")


def test_a_cascade_of_that_name_is_one(tmp_path, rng):
    cascade = trained_cascade(rng, pool_of(WINDOW, "basic"))
    cascade.save(tmp_path / "params.xml")
    assert_same(load_cascade(tmp_path / "params.xml"), cascade)


@pytest.mark.parametrize(
    ("name", "mode"), [("haar-basic-4-stages.xml", "basic"), ("lbp-14-stages.xml", None)]
)
def test_what_opencv_has_trained(tmp_path, name, mode):
    """Its own `cascade.xml` names, in the order of the pool, the rectangles that places stand for."""
    file = SHARED_DATA / "opencv-trained" / name
    if not file.exists():
        pytest.skip(f"no {name} in {file.parent}")
    cascade = load_cascade(file)
    write_run(tmp_path / "data", cascade, mode, pool_of(cascade.window, mode))
    assert_same(read_opencv_run(tmp_path / "data").cascade, cascade)


def edit(file, old, new):
    text = file.read_text()
    assert re.search(old, text), text
    file.write_text(re.sub(old, new, text, count=1))


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("stage1.xml", r"(?s)</weak.*", "", r"cut off: it ends in line \d+; delete it, and training continues"),
        ("stage1.xml", r"(?s).+", "", r"the file is empty; delete it, and training continues from the previous stage"),
        ("stage2.xml", "stageThreshold>[^<]*<", "stageThreshold>nan<", "stageThreshold: 'nan' is not a finite"),
        ("stage0.xml", "-?[0-9.e+-]+</leafValues>", "</leafValues>", "tree 0: .* cannot fit"),
        ("params.xml", "<width>12<", "<width>300<", "window 300x10 is not usable"),
        ("params.xml", "BOOST", "SVM", "stageType 'SVM' are not supported"),
        ("params.xml", "(HAAR|LBP)", "HOG", "featureType 'HOG' are not supported"),
        ("params.xml", "<height>10</height>", "", "height is missing"),
    ],
)  # fmt: skip
def test_damage_is_named_with_its_file(trained, name, old, new, reason):
    folder, _ = trained
    edit(folder / name, old, new)
    with pytest.raises(ModelError, match=f"(?s){re.escape(str(folder / name))}: .*{reason}"):
        read_opencv_run(folder)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("index", [-1, 10**9])
def test_features_of_another_pool_are_refused(tmp_path, rng, mode, index):
    pool = pool_of(WINDOW, mode)
    folder = write_run(tmp_path / "data", trained_cascade(rng, pool), mode, pool)
    edit(folder / "stage1.xml", r"(<internalNodes>\s*\S+ \S+) \d+", rf"\1 {index}")
    with pytest.raises(
        ModelError, match=f"stage1.xml: feature {index} is none of the {len(pool)} of the pool"
    ):
        read_opencv_run(folder)


@pytest.mark.parametrize("mode", ["", "SOME", "BASIC CORE"])
def test_a_mode_that_is_none(tmp_path, rng, mode):
    pool = pool_of(WINDOW, "basic")
    folder = write_run(tmp_path / "data", trained_cascade(rng, pool), "basic", pool)
    edit(folder / "params.xml", "<mode>BASIC", f"<mode>{mode}")
    with pytest.raises(ModelError, match=r"params\.xml: mode '.*' is not BASIC, CORE or ALL"):
        read_opencv_run(folder)


def test_no_run(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"params\.xml: there is no such file"):
        read_opencv_run(tmp_path)


N_MUTANTS = 2_000 if "VJCASCADE_THOROUGH" in os.environ else 150


@pytest.mark.parametrize("mode", MODES)
def test_spoiled_runs_are_read_or_refused_by_the_name_of_a_file(tmp_path, mode):
    rng = np.random.default_rng(17)
    pool = pool_of(WINDOW, mode)
    folder = write_run(tmp_path / "data", trained_cascade(rng, pool), mode, pool)
    files = sorted(folder.iterdir())
    n_read = 0
    for _ in range(N_MUTANTS):
        file = files[rng.integers(len(files))]
        good = file.read_bytes()
        file.write_bytes(spoiled(good, rng))
        try:
            cascade = read_opencv_run(folder).cascade
            if cascade.n_stages:
                assert_same(parse_cascade(dump_cascade(cascade), ""), cascade)
            n_read += 1
        except ModelError as error:
            assert file.name in str(error), error  # noqa: PT017  some are read
            assert "; " in str(error), error  # noqa: PT017
        file.write_bytes(good)
    assert 0 < n_read < N_MUTANTS
