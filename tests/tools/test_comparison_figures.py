"""Figures of a comparison: the published ones were drawn from the published tables."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest

PUBLISHED = Path(__file__).resolve().parents[2] / "samples" / "comparison"

FIGURES = sorted(path.name for path in PUBLISHED.glob("*.svg"))

LINES_OF_STAGES = ("5:1, cars", "5:1, number-plates", "1:5, cars", "1:5, number-plates")
"""From above: all tables of a ratio beside each other."""


@pytest.fixture
def figures(program):
    pytest.importorskip("matplotlib")
    return program("comparison_figures")


@pytest.mark.parametrize("name", FIGURES)
def test_published_figures_are_of_the_published_tables(figures, name):
    pattern, ending = next(names for *names, _ in figures.FIGURES if name.endswith(names[1]))
    sources = figures.sources_by_kind(PUBLISHED, pattern)[name.removesuffix(ending)]
    assert figures.described(sources.values()) in (PUBLISHED / name).read_text()


def test_every_set_of_tables_is_drawn(figures):
    drawn = {
        f"{kind}{ending}"
        for pattern, ending, _ in figures.FIGURES
        for kind in figures.sources_by_kind(PUBLISHED, pattern)
    }
    assert drawn == set(FIGURES)
    assert drawn


@pytest.fixture
def folder(tmp_path):
    """Tables of a made-up comparison: one question with two answers, one of them significant."""
    header = (
        "question,measure,costs,first_booster,first_rule,first_mean,second_booster,second_rule,second_mean"
    )
    header += ",difference,difference_low,difference_high,p,corrected_p,units,verdict"
    rows = ["Which?,cost,5:1,csb2,natural,0.2,adaboost,theory,0.1,0.1,0.05,0.15,0.001,0.01,8,more"]
    rows += ["Which?,cost,1:5,csb2,natural,0.2,adaboost,theory,0.2,0.0,-0.1,0.1,1,1,8,none"]
    rows += ["How many?,weak,5:1,gentle,hit-rate,20,adaboost,hit-rate,30,-10,-15,-5,0.001,0.2,8,none"]
    (tmp_path / "cars-contrasts.csv").write_text("\n".join([header, *rows]) + "\n")
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(["booster", "costs", "rule", "round", "ratio"])
    lines.writerows(["adaboost", "5:1", "natural", n, 1 + 1 / n] for n in (100, 1, 10))
    (tmp_path / "cars-curves.csv.gz").write_bytes(gzip.compress(text.getvalue().encode()))
    return tmp_path


def drawn(figures, monkeypatch, folder):
    monkeypatch.setattr("sys.argv", ["", str(folder)])
    figures.main()
    return {path.name: path.read_text() for path in folder.glob("*.svg")}


def test_tables_are_drawn(figures, monkeypatch, folder):
    made = drawn(figures, monkeypatch, folder)
    assert made.keys() == {"cars-contrasts.svg", "cars-asymmetry.svg"}
    for word in ("Which?", "How many?", "5:1", "1:5", "weak classifiers", "minus adaboost, theory"):
        assert word in made["cars-contrasts.svg"]
    assert made["cars-contrasts.svg"].count("#d55e00") > 0
    assert "AdaBoost, which ignores costs" in made["cars-asymmetry.svg"]
    assert "at 5:1" in made["cars-asymmetry.svg"]
    assert drawn(figures, monkeypatch, folder) == made


def test_objects_of_one_kind_are_drawn_together(figures, monkeypatch, folder):
    for ending in ("-contrasts.csv", "-curves.csv.gz"):
        content = (folder / f"cars{ending}").read_bytes()
        for name in ("stages-cars", "stages-number-plates"):
            (folder / f"{name}{ending}").write_bytes(content)
        (folder / f"cars{ending}").unlink()
    made = drawn(figures, monkeypatch, folder)
    assert made.keys() == {"stages-contrasts.svg", "stages-asymmetry.svg"}
    order = [made["stages-contrasts.svg"].index(f">{name}<") for name in LINES_OF_STAGES]
    assert sorted(order, reverse=True) == order  # drawn from below
    assert all(f">{name}<" in made["stages-asymmetry.svg"] for name in ("cars", "number-plates"))
    paths = [folder / f"stages-{name}-curves.csv.gz" for name in ("cars", "number-plates")]
    assert figures.described(paths) in made["stages-asymmetry.svg"]


def test_hit_rates_of_cascades_are_drawn(figures, monkeypatch, folder):
    ends = [f"hit_rate_at_{rate}{end}" for rate in ("0.01", "0.1", "1") for end in ("", "_low", "_high")]
    for name in ("cars", "plates"):
        with (folder / f"cascades-{name}.csv").open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["entry", *ends])
            lines.writerows([booster, *(0.1 * k for k in range(9))] for booster in ("adaboost", "gentle"))
    made = drawn(figures, monkeypatch, folder)["cascades-hit-rates.svg"]
    for word in ("adaboost", "gentle", "cars", "plates", "at 0.1 false alarms per scene"):
        assert f">{word}<" in made


def test_what_is_not_significant_is_not_marked(figures, monkeypatch, folder):
    path = folder / "cars-contrasts.csv"
    path.write_text(path.read_text().replace(",0.01,8,", ",0.06,8,"))
    assert "#d55e00" not in drawn(figures, monkeypatch, folder)["cars-contrasts.svg"]


def test_a_figure_of_other_tables_is_told_apart(figures, monkeypatch, folder):
    made = drawn(figures, monkeypatch, folder)
    path = folder / "cars-contrasts.csv"
    assert figures.described([path]) in made["cars-contrasts.svg"]
    path.write_text(path.read_text().replace("0.15", "0.16"))
    assert figures.described([path]) not in made["cars-contrasts.svg"]
