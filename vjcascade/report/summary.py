"""The answer at the top of a report: what was trained, how good it is, what it costs, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from types import SimpleNamespace

from vjcascade.features import HaarMode
from vjcascade.messages import duration, few_names, memory_size, pluralize
from vjcascade.report.cost import ASSUMED_RATE, StageCost
from vjcascade.report.training_run import Run
from vjcascade.training.events import SceneFigures, StageRecord
from vjcascade.training.gains import best_figures
from vjcascade.training.mining.mining import count_windows
from vjcascade.training.settings import TrainingSettings
from vjcascade.types import FeatureType, Size

VGA = Size(640, 480)

MIN_HIT_RATE = 0.9
"""A cascade that finds fewer objects needs help."""

MAX_ADVICE = 3


def verdict(run: Run) -> list[str]:
    """Return how good the model is by its own record.

    Parameters
    ----------
    run : Run
        The model and what is known of it.

    Returns
    -------
    list of str
        Sentences; none if nothing is recorded.
    """
    return list(_how_good(run))


def about(run: Run, costs: list[StageCost]) -> list[str]:
    """Return what was trained, what it costs to use, and what it took to train.

    Parameters
    ----------
    run : Run
        The model and what is known of it.
    costs : list of StageCost
        One for each stage; none leaves costs out.

    Returns
    -------
    list of str
        Sentences.
    """
    return [_what(run), *_how_costly(run, costs)]


def advice(run: Run) -> list[str]:
    """Return what to do next, the most useful first.

    Parameters
    ----------
    run : Run
        The model and what is known of it.

    Returns
    -------
    list of str
        Sentences.
    """
    last, settings = run.last, run.settings
    found = [] if last is None or settings is None else list(_findings(run, last, settings))
    model = shlex.quote(str(run.path))
    return [
        *found[:MAX_ADVICE],
        f"Try it on new pictures: `vjcascade detect {model} PICTURE --draw drawn`",
        f"With labelled scenes, choose stages and settings: `vjcascade tune {model} SCENES --output tuned.xml`",
        f"If there are false alarms, collect them for training: `vjcascade negatives {model} VIDEO`",
    ]


def seconds_of(run: Run) -> float:
    """Return how long the stages took whose time is known."""
    return sum(stage.seconds or 0.0 for stage in run.history.stages.values())


def _what(run: Run) -> str:
    cascade = run.cascade
    size = f"{pluralize(cascade.n_stages, 'stage')} and {pluralize(cascade.n_trees, 'weak classifier')}"
    features = f"{cascade.feature_type.label} features"
    model = f"This is a cascade of {size} over {features}, for windows of {cascade.window} pixels"
    counts = run.history.counts
    first = run.records.get(1)
    if first is None:
        of_first = f"the training of its first {pluralize(min(run.records, default=1) - 1, 'stage')}"
        return f"{model}. The file has no record of {of_first if run.records else 'its training'}."
    photos = f", and {pluralize(first.n_negatives, 'negative')} for its first stage"
    if "photos" in counts:
        photos = f" and {pluralize(counts['photos'], 'photo')} without the object"
    return f"{model}, trained on {pluralize(first.n_positives, 'positive')}{photos}."


def _how_good(run: Run) -> Iterator[str]:
    last = run.last
    if last is None:
        return
    held_out = last.overall_held_out_hit_rate
    if held_out is not None:
        hits = f"Of the held-out positives, {held_out:.1%} pass (single, exactly aligned windows"
    else:
        hits = (
            f"Of the training positives, {last.overall_hit_rate:.1%} pass (none were held out, so expect fewer of new "
            "ones; single, exactly aligned windows"
        )
    best = best_figures(run.tried)
    if best is None:
        hits += "; `--validate` measures recall on whole scenes)"
    else:
        yield _in_scenes(run, best)
        hits += ")"
    rate = last.overall_false_alarm_rate
    n_windows = count_windows(SimpleNamespace(sizes=[VGA]), run.cascade.window)
    yield (
        f"{hits}. About one in {1 / rate:,.0f} background windows passes: of the {n_windows:,} windows of a "
        f"VGA picture, about {_rounded(rate * n_windows)}, before grouping."
    )


def _in_scenes(run: Run, best: SceneFigures) -> str:
    """Say what the best number of stages reaches on the scenes."""
    part = f" with {best.n_stages} of its stages" if best.n_stages < run.cascade.n_stages else ""
    where = f"{pluralize(best.n_scenes, 'labelled scene')} with {pluralize(best.n_objects, 'object')}"
    return f"On {where}, it reaches{part}: {best.best}."


def _how_costly(run: Run, costs: list[StageCost]) -> Iterator[str]:
    if not costs:
        return
    assumed = "" if run.records else f", if every stage passes {ASSUMED_RATE:.0%} of the background"
    share = sum(cost.cost for cost in costs[:2]) / costs[-1].so_far
    where = f"; {share:.0%} of that is spent in the first two stages" if len(costs) > 2 else ""
    yield f"A background window costs {costs[-1].so_far:.1f} features on average{assumed}{where}."
    if run.history.ended:
        yield f"{run.history.ended[:1].upper()}{run.history.ended[1:]}."
    seconds = seconds_of(run)
    if seconds:
        known = len(run.history.stages)
        whose = "Training" if known == run.cascade.n_stages else f"Training of {pluralize(known, 'stage')}"
        peak = max((stage.memory or 0 for stage in run.history.stages.values()), default=0)
        memory = f" and {memory_size(peak)} of memory" if peak else ""
        yield f"{whose} took {duration(seconds)}{memory}."


def _findings(run: Run, last: StageRecord, settings: TrainingSettings) -> Iterator[str]:
    """Yield what could be better, and how."""
    n_stages, target = run.cascade.n_stages, settings.target_false_alarm_rate
    misses_target = last.overall_false_alarm_rate > target
    if misses_target and n_stages < settings.max_stages and run.history.stages:
        if not run.history.ended:
            yield f"Not all of the {settings.max_stages} stages are trained: continue with `--resume`."
    elif misses_target and n_stages < settings.max_stages:
        yield (
            f"The model has fewer than the {settings.max_stages} stages asked for: continue with `--resume` if the "
            "run was stopped; if the negatives ran out, add photos."
        )
    elif misses_target:
        yield f"For fewer false alarms, allow more stages (`--stages {n_stages + 5}`) and continue with `--resume`."
    if last.hit_rate_so_far < MIN_HIT_RATE:
        raised = 1 - (1 - settings.hit_rate) / 2
        yield f"For fewer missed objects, raise the hit rate of each stage (`--hit-rate {raised:.4g}`) or add crops."
    if last.overall_held_out_hit_rate is None:
        yield "Give at least 100 crops and hold some out (`--held-out 0.2`): only then can you trust the hit rate."
    full = [r.stage for r in run.records.values() if r.tuned.false_alarm_rate > settings.false_alarm_rate]
    richer = "--mode all" if settings.features is FeatureType.HAAR else "--features haar"
    if full and settings.mode is not HaarMode.ALL:
        stages = ", ".join(map(str, full[:5])) + (" and more" if len(full) > 5 else "")
        yield (
            f"False alarms stay above the stage's target in stage {stages}: more features (`{richer}`) or more crops "
            "may separate objects from background better."
        )
    n_before = run.metadata.get("continued", {}).get("stages", "")
    own = [r for stage, r in run.records.items() if not n_before.isdecimal() or stage > int(n_before)]
    if outliers := [name for record in own for name in record.outliers]:
        yield (
            f"Thresholds are not tuned on {few_names(outliers)}: other crops score far higher. Add crops like these, "
            "or remove these if they are no good examples."
        )
    if any(len(stage.false_alarms) for stage in run.history.stages.values()):
        yield "Look at the worst false alarms below: if they show the object, take their photos out of the negatives."


def _rounded(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1g}" if number < 1 else f"{number:.1f}"
