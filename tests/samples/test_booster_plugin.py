"""The worked plug-in: found as an installed package is found, trained with, and as sensible as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import plugin_packages
import pytest
from easy_pictures import easy_positive, save, soft_noise

from vjcascade import Cascade
from vjcascade.boosters import Costs, DiscreteBooster, booster_names, make_booster, registry
from vjcascade.learning.pool import boost_pool

PROJECT = Path(__file__).parents[2]
SAMPLE = PROJECT / "samples" / "booster_plugin"


@pytest.fixture
def site(tmp_path):
    """Return a folder with what installing the sample would leave there."""
    project = tomllib.loads((SAMPLE / "pyproject.toml").read_text())["project"]
    module = SAMPLE / f"{project['name'].replace('-', '_')}.py"  # what hatchling takes into the wheel
    entry_points = project["entry-points"][plugin_packages.GROUP]
    plugin_packages.install(
        tmp_path / "site", project["name"], entry_points, **{module.stem: module.read_text()}
    )
    return tmp_path / "site"


@pytest.fixture
def installed(site, monkeypatch):
    def forget():
        registry._plugins.cache_clear()
        registry._tried.cache_clear()

    monkeypatch.syspath_prepend(site)
    forget()
    yield
    forget()
    sys.modules.pop("vjcascade_madaboost", None)


@pytest.fixture
def noisy_pool(rng):
    """Return outputs, labels of which one in eight is wrong, and the true ones."""
    true = np.where(np.arange(240) % 2, 1, -1).astype(np.int8)
    pool = np.where(rng.random((240, 80)) < 0.4, -true[:, None], true[:, None]).astype(np.int8)
    return pool, np.where(rng.random(240) < 1 / 8, -true, true).astype(np.int8), true


@pytest.mark.usefixtures("installed")
def test_it_boosts(noisy_pool):
    pool, labels, _ = noisy_pool
    booster = make_booster("madaboost", Costs(3, 1), 20, prior="sample")
    run = boost_pool(pool, labels, booster, 20)
    assert "madaboost" in booster_names()
    assert len(run.chosen) == 20
    assert np.mean(np.sign(run.state.score) != labels) < np.mean(pool[:, run.chosen[0]] != labels) - 0.05


@pytest.mark.usefixtures("installed")
def test_no_sample_weighs_more_than_its_cost(noisy_pool):
    pool, labels, _ = noisy_pool
    costs = Costs(3, 1)
    booster = make_booster("madaboost", costs, 30, prior="sample")
    state = boost_pool(pool, labels, booster, 30).state
    logs, margins = booster.log_weights(state), labels * state.score
    first = np.log(costs.of(labels) / len(labels))
    np.testing.assert_allclose(logs, np.where(margins < 0, first, first - margins), atol=1e-12)
    assert (margins < 0).any()


@pytest.mark.usefixtures("installed")
def test_wrong_labels_weigh_less_than_in_adaboost(noisy_pool):
    pool, labels, true = noisy_pool
    shares = []
    for name in ("madaboost", "adaboost"):
        booster = make_booster(name, Costs(), 60)
        weights = booster.begin_round(boost_pool(pool, labels, booster, 60).state).weights
        shares.append(weights[labels != true].sum() / weights.sum())
    assert shares[0] < shares[1]


def test_the_command_line_trains_with_it(site, tmp_path):
    rng = np.random.default_rng(1)
    save(tmp_path / "pos", [easy_positive(rng) for _ in range(40)])
    save(tmp_path / "neg", [soft_noise(rng) for _ in range(10)])
    brief = ["--window", "12x12", "--stages", "1", "--negatives", "60", "--no-baseline"]
    words = ["train", "pos", "neg", "--booster", "madaboost", "--output", "out", *brief]
    path = os.pathsep.join(map(str, [site, PROJECT]))
    ran = subprocess.run(
        [sys.executable, "-m", "vjcascade", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert Cascade.load(tmp_path / "out" / "cascade.xml").metadata["settings"]["booster"] == "madaboost"


def test_its_page_names_what_is_there():
    words = set(re.findall(r"`([\w.]+)`", (SAMPLE / "README.md").read_text()))
    files, methods = (
        {"vjcascade_madaboost.py", "pyproject.toml"},
        {"log_prior", "log_weights", "loss", "alpha", "weigh"},
    )
    assert files | methods <= words
    assert all((SAMPLE / file).is_file() for file in files)
    assert all(callable(getattr(DiscreteBooster, method)) for method in methods)
