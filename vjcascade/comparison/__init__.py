"""Boosters compared with one another, stage by stage, table by table or as whole cascades."""

from vjcascade.comparison.answer import answer
from vjcascade.comparison.design import Contender, Design, Entry, Rule, nikolaou_design
from vjcascade.comparison.export import results_csv, results_json, summary_csv
from vjcascade.comparison.full import compare_full
from vjcascade.comparison.full_results import FullComparison, full_entries
from vjcascade.comparison.results import Comparison
from vjcascade.comparison.stage_datasets import StagePlan
from vjcascade.comparison.stages import compare_stages
from vjcascade.comparison.tables import compare_tables

__all__ = [
    "Comparison",
    "Contender",
    "Design",
    "Entry",
    "FullComparison",
    "Rule",
    "StagePlan",
    "answer",
    "compare_full",
    "compare_stages",
    "compare_tables",
    "full_entries",
    "nikolaou_design",
    "results_csv",
    "results_json",
    "summary_csv",
]
