"""The figures of the paper show what the paper says, and are drawn."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from vjcascade.boosters import Costs

TOOLS = Path(__file__).parents[2] / "tools"
FIGURES = (
    "counterexample-1",
    "counterexample-2",
    "bound-adaboost",
    "bound-cost-sensitive",
    "bound-cost-generalized",
    "class-prevalence",
    "minimizer-adaboost",
    "minimizer-cost-generalized",
    "minimizer-cost-sensitive",
    "isolines",
    "cost-scenarios",
    "cost-scenarios-with-models",
    "variable-costs",
    "asymmetry-swapping",
)


@pytest.fixture(scope="module")
def tools() -> Iterator[dict[str, ModuleType]]:
    """Return the modules of the program; importing them must not need matplotlib."""
    names = ("paper_theory", "paper_experiments", "paper_experiment_figures", "reproduce_paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOLS))
        yield {name: importlib.import_module(name) for name in names}


@pytest.fixture(scope="module")
def theory(tools):
    return tools["paper_theory"]


@pytest.fixture(scope="module")
def experiments(tools):
    return tools["paper_experiments"]


@pytest.fixture(scope="module")
def inside(experiments):
    return experiments.Counterexample.boost()


@pytest.fixture(scope="module")
def outside(experiments):
    return experiments.Counterexample.boost(swapped=True)


# Figures 1 and 2, and what Appendix C says of them


def test_both_counterexamples_share_their_points(inside, outside):
    np.testing.assert_array_equal(inside.points, outside.points)
    np.testing.assert_array_equal(inside.labels, -outside.labels)
    assert len(inside.run.chosen) == len(outside.run.chosen) == 50
    assert len(np.unique(inside.points[:, 0])) == len(np.unique(inside.points[:, 1])) == 60


def test_pool_holds_every_stump_and_both_constants(inside):
    outputs = inside.stumps.outputs(inside.points)
    assert outputs.shape == (60, 2 + 2 * 2 * 59)
    assert (outputs[:, 0] == 1).all()
    assert (outputs[:, 1] == -1).all()
    assert len(np.unique(outputs, axis=1).T) == outputs.shape[1]


def test_figure_1_rests_at_seven_tenths_until_round_6(inside):
    error_p, error_n = inside.class_errors
    assert (error_p[:6] == 0).all()
    np.testing.assert_allclose(error_n[:6], 0.7, rtol=1e-15)
    assert inside.flat_sections()[0] == (1, 6)
    assert np.isfinite(inside.stumps.cut[inside.run.chosen[0]])


def test_figure_2_calls_all_positive_until_round_9(outside):
    error_p, error_n = outside.class_errors
    assert (error_p[:9] == 0).all()
    assert (error_n[:9] == 1).all()
    assert outside.flat_sections()[0] == (1, 9)
    first = outside.stumps.outputs(outside.points)[:, outside.run.chosen[0]]
    assert (first == 1).all()


def test_figure_2_rests_in_rounds_13_to_18(outside):
    assert (13, 18) in outside.flat_sections()


def test_all_four_classifiers_of_panel_a_split_the_points(inside, outside):
    for example in (inside, outside):
        outputs = example.stumps.outputs(example.points)[:, example.proper[:4]]
        assert (np.abs(outputs.sum(axis=0)) < 60).all()
        assert len(example.proper) < 50  # constants were chosen as well


def test_asymmetry_is_kept_to_the_end_in_both_polarities(inside, outside):
    for example in (inside, outside):
        error_p, error_n = example.class_errors
        assert (error_p <= error_n).all()
        assert error_p[-1] <= 0.025
        assert error_n[-1] <= 0.25
        assert example.global_error[-1] < 0.4 * example.global_error[0]


def test_later_classifiers_of_figure_1_are_as_asymmetric_as_the_first(experiments, inside):
    outputs = inside.stumps.outputs(inside.points)[:, inside.run.chosen]
    error_p, error_n = experiments.error_rates(outputs.T, inside.labels)
    assert (error_p[0], round(error_n[0], 12)) == (0, 0.7)
    assert np.count_nonzero((error_p[1:] == 0) & (error_n[1:] >= 0.7)) >= 5


def test_no_score_hangs_on_rounding(inside, outside):
    for example in (inside, outside):
        assert np.abs(example.run.scores(example.stumps.outputs(example.points))).min() > 1e-6


def test_scores_of_other_points_continue_those_of_the_training_points(inside):
    np.testing.assert_allclose(inside.scores(inside.points), inside.run.state.score, atol=1e-12)


# Figures 3 to 6


def test_bounds_lie_above_the_error(theory):
    z = np.linspace(-3, 3, 601)
    costs = Costs(2, 1)
    all_losses = (
        theory.adaboost_loss(z),
        theory.cost_sensitive_loss(z, costs),
        theory.cost_generalized_loss(z, costs),
    )
    for losses in all_losses:
        assert (losses.positive >= losses.positive_error).all()
        assert (losses.negative >= losses.negative_error).all()


def test_ratio_of_the_class_losses(theory):
    z = np.array([-0.5, 0.0, 0.5])
    generalized = theory.cost_generalized_loss(z, Costs(4, 1))
    np.testing.assert_allclose(generalized.positive / generalized.negative, 4, rtol=1e-12)
    sensitive = theory.cost_sensitive_loss(z, Costs(4, 1))
    np.testing.assert_allclose(sensitive.positive / sensitive.negative, [4.48, 1, 0.22], atol=0.005)


# Figures 7 to 10


def test_minimizers_at_likelihood_nine_tenths(theory):
    cost_p = np.array([1.0, 2.0, 4.0, 8.0])
    sensitive = theory.cost_sensitive_minimizer(0.9, cost_p, 1.0)
    np.testing.assert_allclose(sensitive, [1.0986, 0.9635, 0.7167, 0.4752], atol=5e-5)
    assert (np.diff(theory.cost_generalized_minimizer(0.9, cost_p, 1.0)) > 0).all()
    assert theory.adaboost_minimizer(0.9) == pytest.approx(sensitive[0])


def test_minimizers_are_least_risk(theory):
    f = np.linspace(-4, 4, 80_001)
    for p, cost_p, cost_n in ((0.3, 4, 1), (0.9, 2, 1), (0.6, 1, 8)):
        sensitive_risk = p * np.exp(-cost_p * f) + (1 - p) * np.exp(cost_n * f)
        generalized_risk = p * cost_p * np.exp(-f) + (1 - p) * cost_n * np.exp(f)
        assert theory.cost_sensitive_minimizer(p, cost_p, cost_n) == pytest.approx(
            f[sensitive_risk.argmin()], abs=2e-4
        )
        assert theory.cost_generalized_minimizer(p, cost_p, cost_n) == pytest.approx(
            f[generalized_risk.argmin()], abs=2e-4
        )


def test_isoline_maps_share_their_boundary_and_differ_elsewhere(theory):
    p, gamma = np.meshgrid(np.linspace(0.013, 0.987, 50), np.linspace(0.02, 0.98, 50))
    cost_p, cost_n = theory.costs_of_gamma(gamma)
    assert (np.minimum(cost_p, cost_n) == 1).all()
    np.testing.assert_allclose(cost_p / (cost_p + cost_n), gamma, rtol=1e-12)
    generalized = theory.cost_generalized_minimizer(p, cost_p, cost_n)
    sensitive = theory.cost_sensitive_minimizer(p, cost_p, cost_n)
    away = np.abs(generalized) > 1e-9
    assert (np.sign(generalized) == np.sign(sensitive))[away].all()
    assert (np.diff(generalized, axis=0) > 0).all()
    assert (np.diff(sensitive, axis=0) < 0).any()


# Figures 11 to 13


def test_the_five_scenarios_are_the_papers(theory):
    assert [matrix.scenario for matrix in theory.SCENARIOS] == [
        "symmetry",
        "error asymmetry",
        "correct classification asymmetry",
        "dual asymmetry",
        "reversed dual asymmetry",
    ]
    assert len(theory.SCENARIO_MODELS) == 5
    z = np.array([-1.0, 1.0])
    prevalent = [np.sign(np.subtract(*theory.scenario_costs(z, m))).tolist() for m in theory.SCENARIOS]
    assert prevalent == [[0, 0], [1, 0], [0, 1], [1, 1], [1, -1]]


def test_only_the_model_of_the_reversed_scenario_changes_its_prevalent_class(theory):
    z = np.array([-1.0, 1.0])
    prevalent = [np.sign(np.subtract(*model.losses(z))).tolist() for model in theory.SCENARIO_MODELS]
    assert prevalent == [[0, 0], [1, 1], [1, 1], [1, 1], [1, -1]]


# Asymmetry swapping


@pytest.fixture(scope="module")
def swapping(experiments):
    return experiments.swap_asymmetry(0.8, n_repeats=4, n_rounds=80)


def test_costs_in_the_exponents_swap_the_asymmetry(swapping):
    for name in ("cost-sensitive", "adaboostdb"):
        assert swapping.ratio(name)[4] < 0.8
        assert swapping.ratio(name)[-1] > 1.3


def test_cost_generalized_does_not_swap_but_its_asymmetry_fades(swapping):
    ratio = swapping.ratio("cost-generalized")
    assert ratio[4] < 0.6
    assert ratio[4] + 0.1 < ratio[-1] < 1
    np.testing.assert_allclose(ratio[-1], swapping.ratio("adaboost")[-1], atol=0.1)
    assert (
        swapping.expected_cost("cost-generalized")[-1] < swapping.expected_cost("cost-sensitive")[-1] - 0.05
    )


def test_swapping_is_the_same_in_every_run(experiments):
    once, twice = (experiments.swap_asymmetry(1.6, n_repeats=1, n_rounds=5) for _ in range(2))
    for name in experiments.SWAPPING_BOOSTERS:
        np.testing.assert_array_equal(once.ratio(name), twice.ratio(name))


# The pictures


def test_every_figure_is_on_offer(tools):
    assert tuple(tools["reproduce_paper"].FIGURES) == FIGURES


@pytest.mark.parametrize("name", FIGURES)
def test_figure_is_written(name, tools, experiments, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib (extra: paper)")
    monkeypatch.setattr(
        tools["paper_experiment_figures"], "swap_asymmetry", lambda s: experiments.swap_asymmetry(s, 1, 5)
    )
    path = tools["reproduce_paper"].draw(name, tmp_path / "new" / "folder")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 10_000


def test_program_writes_the_one_asked_for(tools, monkeypatch, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib (extra: paper)")
    arguments = ["reproduce_paper.py", str(tmp_path), "--only", "bound-adaboost", "--format", "svg"]
    monkeypatch.setattr(sys, "argv", arguments)
    tools["reproduce_paper"].main()
    assert [path.name for path in tmp_path.iterdir()] == ["bound-adaboost.svg"]
    assert "bound-adaboost.svg" in capsys.readouterr().out


def test_program_says_what_to_install(tools, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["reproduce_paper.py", str(tmp_path)])
    with pytest.raises(SystemExit):
        tools["reproduce_paper"].main()
    assert "pip install 'vjcascade[paper]'" in capsys.readouterr().err
