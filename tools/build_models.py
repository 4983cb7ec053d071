"""Rebuild models/car.xml or models/plate.xml and its card from the data, and measure it on scenes.

Run it from anywhere: ``python tools/build_models.py car --data FOLDER``, where FOLDER holds cars-uiuc.tar.gz, plates-eu.tar.gz
and negatives-train.tar.gz. Both are trained with default settings, as anybody's crops would be; nothing was chosen on
the scenes that they are measured on. A run that was stopped goes on with ``--resume``.
"""

from __future__ import annotations

import argparse
import platform
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from model_cards import stage_rows

from vjcascade import Cascade, Detector, train
from vjcascade.cli.training_log import TrainingLog
from vjcascade.evaluation import Candidate, MatchingRule, Protocol, evaluate, matching_rule, read_scenes
from vjcascade.files import write_atomic
from vjcascade.messages import duration, pluralize
from vjcascade.report.training_run import open_run
from vjcascade.training import TrainingSettings

PROJECT = Path(__file__).resolve().parents[1]
MODELS = PROJECT / "models"
SETTINGS = TrainingSettings(baseline=False)
FALSE_ALARMS = (0, 1, 2, 5, 10)
"""In all scenes of a set: where recall is read."""


@dataclass(frozen=True)
class TestSet:
    """Scenes that a model is measured on.

    Attributes
    ----------
    title : str
        For the card.
    boxes : str
        CSV below the unpacked archives.
    rule : MatchingRule
        What a hit is, by those who published the scenes.
    """

    title: str
    boxes: str
    rule: MatchingRule


@dataclass(frozen=True)
class Recipe:
    """What a model is made of.

    Attributes
    ----------
    finds, not_for, data, terms : str
        Sentences of the card.
    archives : tuple of str
        Names without suffix.
    positives, negatives : tuple of str
        Patterns of pictures below the unpacked archives.
    left_out : str
        List of negatives, below them, in which the object was seen; none if empty.
    tests : tuple of TestSet
        Scenes.
    """

    finds: str
    not_for: str
    data: str
    terms: str
    archives: tuple[str, ...]
    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    tests: tuple[TestSet, ...]
    left_out: str = ""


RECIPES: Mapping[str, Recipe] = {
    "car": Recipe(
        finds="cars seen from the side, facing left or right",
        not_for="cars seen from the front or at an angle, and any decision that lives depend on",
        data="{crops} cars of the UIUC Image Database for Car Detection (Agarwal, Awan and Roth), and {photos} photos without "
        "cars: those of the same set, and photos, graphics and textures",
        terms="The UIUC pictures are free for research, without a formal licence; cite their authors. None of the pictures is "
        "part of this project",
        archives=("cars-uiuc", "negatives-train"),
        positives=("cars-uiuc/TrainImages/pos-*.pgm",),
        negatives=("cars-uiuc/TrainImages/neg-*.pgm", "negatives-train/*.jpg"),
        left_out="negatives-train/contains_cars.txt",
        tests=(
            TestSet("UIUC, one scale", "cars-uiuc/boxes_TestImages.csv", matching_rule("uiuc")),
            TestSet("UIUC, many scales", "cars-uiuc/boxes_TestImages_Scale.csv", matching_rule("uiuc-scale")),
        ),
    ),
    "plate": Recipe(
        finds="European licence plates, upright, seen from about the front",
        not_for="plates of two lines or of other countries, and reading them: it finds a plate, no letters",
        data="{crops} plates and {photos} photos without plates: streets, cities from the air and interiors of OpenALPR's "
        "training data, and photos, graphics and textures",
        terms="OpenALPR's training data are in repositories under AGPL-3, their photos were taken by others. None of the "
        "pictures is part of this project; ask a lawyer before you build a product on the model",
        archives=("plates-eu", "negatives-train"),
        positives=("plates-eu/train/*.png",),
        negatives=("plates-eu/negatives-road/**/*.jpg", "negatives-train/*.jpg"),
        tests=(
            TestSet(
                "OpenALPR's European scenes", "plates-eu/boxes_test.csv", matching_rule("iou", aspect=4.4)
            ),
        ),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument(
        "--data", type=Path, default=PROJECT.parent / "shared" / "data", help="folder of the archives"
    )
    parser.add_argument("--work", type=Path, help="folder of the run; build/NAME if not given")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the work folder")
    parser.add_argument(
        "--measure-only", action="store_true", help="take the model that the work folder holds"
    )
    arguments = parser.parse_args()
    name, recipe = arguments.name, RECIPES[arguments.name]
    work = arguments.work or PROJECT / "build" / name
    with tempfile.TemporaryDirectory() as scratch:
        unpacked = Path(scratch) / "data"
        for archive in recipe.archives:
            with tarfile.open(arguments.data / f"{archive}.tar.gz") as tar:
                tar.extractall(unpacked, filter="data")
        if not arguments.measure_only:
            train_model(recipe, unpacked, Path(scratch), work, resume=arguments.resume)
        tables = "\n\n".join(
            measured(Cascade.load(work / "cascade.xml"), test, unpacked) for test in recipe.tests
        )
    cascade = Cascade.load(work / "cascade.xml")
    cascade.save(MODELS / f"{name}.xml")
    write_atomic(MODELS / f"{name}.md", card(name, recipe, work, tables).encode())
    print(f"{MODELS / f'{name}.xml'} written")


def train_model(recipe: Recipe, unpacked: Path, scratch: Path, work: Path, *, resume: bool) -> None:
    """Train on the pictures of a recipe."""
    left_out = set((unpacked / recipe.left_out).read_text().split()) if recipe.left_out else set()
    for kind, patterns in (("crops", recipe.positives), ("photos", recipe.negatives)):
        (scratch / kind).mkdir()
        for path in found(unpacked, patterns):
            if path.name not in left_out:
                path.rename(scratch / kind / path.name)
    with TrainingLog() as log:
        cascade = train(
            scratch / "crops",
            scratch / "photos",
            work,
            SETTINGS,
            resume=resume,
            overwrite=not resume,
            listener=log,
        )
    log.finish(cascade, work / "cascade.xml")


def found(unpacked: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of patterns, in order."""
    return [path for pattern in patterns for path in sorted(unpacked.glob(pattern))]


def measured(cascade: Cascade, test: TestSet, unpacked: Path) -> str:
    """Return what a model finds in the scenes of a set, in Markdown."""
    scenes = read_scenes(unpacked / test.boxes)
    protocol = Protocol(rule=test.rule, counts=FALSE_ALARMS)
    evaluation = evaluate([Candidate("model", Detector(cascade))], scenes, protocol)
    intervals = evaluation.intervals(evaluation.models[0])
    written = [figure.written(one) for figure, one in zip(evaluation.figures, intervals, strict=True)]
    rows = "\n".join(
        f"| {figure.name} | {mean} | {low} to {high} |"
        for figure, (mean, low, high) in zip(evaluation.figures, written, strict=True)
    )
    n_objects = pluralize(int(scenes.n_objects.sum()), "object")
    return f"""### {test.title}
{pluralize(len(scenes), "scene")} with {n_objects}; a hit: {test.rule}.

| shares in % | measured | 95 % of draws of scenes |
|---|---|---|
{rows}"""


def card(name: str, recipe: Recipe, work: Path, tables: str) -> str:
    """Return the model card, in Markdown."""
    run = open_run(work)
    cascade, stages = run.cascade, run.history.stages
    data, settings = cascade.metadata["data"], cascade.metadata["settings"]
    seconds = sum(stage.seconds or 0 for stage in stages.values())
    crops, photos = f"{data['positives']:,}", f"{data['photos']:,}"
    return f"""# {name}.xml

Finds {recipe.finds}. Window {cascade.window}, {cascade.n_stages} stages, {cascade.n_trees} stumps over
{len(cascade.features)} upright Haar features. Use it with `vjcascade detect models/{name}.xml PICTURE`, from Python with
`vjcascade.Cascade.load`, or in OpenCV 4.

**Not for** {recipe.not_for}.

## Data
{recipe.data.format(crops=crops, photos=photos)}. A fifth of both was held out of training, for the rates below.
{recipe.terms}.

## How it was made
`python tools/build_models.py {name} --data FOLDER` rebuilds it, with default settings: booster {settings["booster"]}, hit rate
{settings["hit_rate"]} and false-alarm rate {settings["false_alarm_rate"]} a stage, altered copies of the crops, seed {settings["seed"]}. It took {duration(seconds)} on two
processors of a shared machine. Card written with Python {platform.python_version()}.

## Stages
Hit rates on held-out crops and their copies, false-alarm rates on held-out negatives of the stage; "so far" is the whole cascade, its
false-alarm rate per window. These are of single windows: what is found in scenes is below.

{stage_rows(cascade)}

## Test scenes
Pictures that had no part in training, and on which nothing was chosen. Detections are ranked by their ranking scores; the operating
point is that of default settings.

{tables}
"""


if __name__ == "__main__":
    main()
