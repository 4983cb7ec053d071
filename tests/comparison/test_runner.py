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
    return compare("tables", [(problem, None)], 1, DESIGN, RunCache.open(folder, {}), told={})


def test_every_seed_has_a_split_of_its_own(rng, tmp_path):
    assert (np.ptp(compared(rng, tmp_path).values("auc"), axis=2) > 0).all()


def test_rules_that_need_no_samples_get_ensembles_of_more(rng, tmp_path, monkeypatch):
    sizes, boost = {}, module.boost_run

    def noted(bench, run, n_rounds):
        sizes.setdefault(run.whole, len(bench.search.labels))
        return boost(bench, run, n_rounds)

    monkeypatch.setattr(module, "boost_run", noted)
    (block,) = compared(rng, tmp_path).blocks
    assert sizes == {True: block.n_train, False: block.n_train - block.n_tune}
