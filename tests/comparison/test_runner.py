"""What the runs of a comparison are given: splits of their own, and as many samples as their rules leave."""

from __future__ import annotations

import numpy as np

from vjcascade.comparison import runner as module
from vjcascade.comparison.design import Design
from vjcascade.comparison.problems import TableProblem
from vjcascade.comparison.run_cache import RunCache
from vjcascade.comparison.runner import compare

DESIGN = Design(boosters=("adaboost",), costs=(4,), rules=("natural", "calibrated"), n_rounds=3, n_seeds=3)


def compared(rng, folder):
    labels = np.repeat(np.array([1, -1], np.int8), 60)
    problem = TableProblem("rows", rng.normal(size=(120, 3)) + labels[:, None], labels, np.arange(120))
    return compare("tables", [(problem, None)], 1, DESIGN, RunCache.open(folder, {}), metadata={})


def test_every_seed_has_a_split_of_its_own(rng, tmp_path):
    assert (np.ptp(compared(rng, tmp_path).values("auc"), axis=2) > 0).all()


def test_rules_that_need_no_samples_get_ensembles_of_more(rng, tmp_path, monkeypatch):
    sizes, boost = {}, module.boost_run

    def noted(trial, run, n_rounds):
        sizes.setdefault(run.whole, len(trial.search.labels))
        return boost(trial, run, n_rounds)

    monkeypatch.setattr(module, "boost_run", noted)
    (dataset,) = compared(rng, tmp_path).datasets
    assert sizes == {True: dataset.n_train, False: dataset.n_train - dataset.n_tune}
