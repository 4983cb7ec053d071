"""Boosters compared with one another, stage by stage, table by table or as whole cascades."""

from vjcascade.comparison.answer import answer
from vjcascade.comparison.contrasts import Contrast, contrasts_csv, judged, read_contrasts
from vjcascade.comparison.design import Contender, Design, Entry, Rule, nikolaou_design
from vjcascade.comparison.export import curves_csv, results_csv, results_json, summary_csv
from vjcascade.comparison.full import compare_full
from vjcascade.comparison.full_results import FullComparison, full_entries
from vjcascade.comparison.results import Comparison
from vjcascade.comparison.stage_datasets import StagePlan
from vjcascade.comparison.stages import compare_stages
from vjcascade.comparison.summary import Summary
from vjcascade.comparison.tables import compare_tables

__all__ = [
    "Comparison",
    "Contender",
    "Contrast",
    "Design",
    "Entry",
    "FullComparison",
    "Rule",
    "StagePlan",
    "Summary",
    "answer",
    "compare_full",
    "compare_stages",
    "compare_tables",
    "contrasts_csv",
    "curves_csv",
    "full_entries",
    "judged",
    "nikolaou_design",
    "read_contrasts",
    "results_csv",
    "results_json",
    "summary_csv",
]
