"""Draw the figures of the paper, "Revisiting AdaBoost for cost-sensitive classification. Part I" (arXiv 1507.04125).

``python tools/reproduce_paper.py OUT`` writes all of them as pictures into the folder OUT; ``--only NAME`` writes one.
Everything is computed anew, without a screen. Needs matplotlib: ``pip install 'vjcascade[paper]'``.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path

import paper_experiment_figures as experiments
import paper_figures as theory
from paper_style import STYLE

FIGURES = {
    "counterexample-1": experiments.counterexample_1,
    "counterexample-2": experiments.counterexample_2,
    "bound-adaboost": theory.bound_adaboost,
    "bound-cost-sensitive": theory.bound_cost_sensitive,
    "bound-cost-generalized": theory.bound_cost_generalized,
    "class-prevalence": theory.class_prevalence,
    "minimizer-adaboost": theory.minimizer_adaboost,
    "minimizer-cost-generalized": theory.minimizer_cost_generalized,
    "minimizer-cost-sensitive": theory.minimizer_cost_sensitive,
    "isolines": theory.isolines,
    "cost-scenarios": theory.cost_scenarios,
    "cost-scenarios-with-models": theory.cost_scenarios_with_models,
    "variable-costs": theory.variable_costs,
    "asymmetry-swapping": experiments.asymmetry_swapping,
}
"""The figures by name, in the paper's order; the last is what its companion paper shows."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="OUT", type=Path, help="where the pictures go; made if missing")
    parser.add_argument("--only", metavar="NAME", choices=FIGURES, help=f"one of {', '.join(FIGURES)}")
    parser.add_argument("--format", choices=("png", "svg"), default="png", help="kind of picture (png)")
    arguments = parser.parse_args()
    if importlib.util.find_spec("matplotlib") is None:
        parser.error("drawing needs matplotlib: pip install 'vjcascade[paper]'")
    for name in [arguments.only] if arguments.only else FIGURES:
        start = time.perf_counter()
        path = draw(name, arguments.folder, arguments.format)
        print(f"{path}  ({time.perf_counter() - start:.1f} s)")


def draw(name: str, folder: Path, kind: str = "png") -> Path:
    """Draw one figure into a folder and return where the picture lies."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.{kind}"
    with rc_context(STYLE):
        FIGURES[name]().savefig(path)
    return path


if __name__ == "__main__":
    main()
