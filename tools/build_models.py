"""Rebuild a model of models/ and its card from the data, and measure it on scenes.

Run it from anywhere: ``python tools/build_models.py car --data FOLDER``, where FOLDER holds the archives that the model's
recipe names, as cars-uiuc.tar.gz. Cars and plates are trained with default settings, as anybody's crops would be; nothing was
chosen on the scenes that models are measured on. A run that was stopped goes on with ``--resume``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from boxes_to_coco import coco
from face_pictures import (
    FOR_DEVELOPMENT,
    SOURCES,
    link_faces,
    list_people,
    write_faces,
    write_turned_people,
    write_turned_photos,
)
from model_cards import stage_rows

from vjcascade import Cascade, Detector, Size, train
from vjcascade.cascade import CHANGES
from vjcascade.cli.training_log import TrainingLog
from vjcascade.evaluation import (
    Candidate,
    MatchingRule,
    Protocol,
    Scenes,
    evaluate,
    matching_rule,
    read_scenes,
)
from vjcascade.exports.c_source import CSource
from vjcascade.files import write_atomic
from vjcascade.messages import duration, pluralize
from vjcascade.parallel import default_threads
from vjcascade.report.training_run import open_run
from vjcascade.training import TrainingSettings
from vjcascade.training.settings import Mirror

PROJECT = Path(__file__).resolve().parents[1]
MODELS = PROJECT / "models"
DEFAULTS = TrainingSettings(baseline=False)

FALSE_ALARMS = (0, 1, 2, 5, 10)
"""In all scenes of a set: where recall is read."""

FACE_FALSE_ALARMS = (0, 5, 10, 31, 50, 65, 78, 95, 167)
"""Where Viola and Jones read it on MIT+CMU, and where OpenCV's models were."""

FACE_WINDOW = Size(20, 20)
FACE_SETTINGS = TrainingSettings(
    booster="cost-generalized-gentle",
    max_depth=2,
    copies=0,
    mirror=Mirror.NO,
    hit_rate=0.997,
    false_alarm_rate=0.5,
    max_stages=24,
    max_weak=200,
    max_samples=33_000,
    target_false_alarm_rate=5e-8,
    baseline=False,
)
SMALL_FACE_SETTINGS = replace(
    FACE_SETTINGS, max_depth=1, hit_rate=0.996, max_stages=18, max_weak=80, max_samples=20_000
)
MAX_BYTES = 20 * 1024
"""Of the small face model's data in C."""

N_SHARED, N_OF_THIRD = 10, 20
"""Stages of the face model that its two parts share, and those of its first part: chosen on scenes for development."""


@dataclass(frozen=True)
class Step:
    """A training run; a further one goes on with the model of an earlier one.

    Attributes
    ----------
    positives, negatives : Path
        As for `vjcascade.train`.
    settings : TrainingSettings
        Of the run.
    more_negatives : tuple of Path
        As for `vjcascade.train`.
    continues : tuple of int or None
        Number of an earlier run, from 1 on, and how many of its stages are gone on with; the whole model of the run before
        if None.
    """

    positives: Path
    negatives: Path
    settings: TrainingSettings = DEFAULTS
    more_negatives: tuple[Path, ...] = ()
    continues: tuple[int, int] | None = None


@dataclass(frozen=True)
class TestSet:
    """Scenes that a model is measured on.

    Attributes
    ----------
    title : str
        For the card.
    boxes : str
        CSV below the unpacked archives, or boxes.json of face scenes.
    rule : MatchingRule
        What a hit is, by those who published the scenes.
    false_alarms : tuple of int
        In all scenes: where recall is read.
    """

    title: str
    boxes: str
    rule: MatchingRule
    false_alarms: tuple[int, ...] = FALSE_ALARMS


def default_training(recipe: Recipe, unpacked: Path, scratch: Path) -> list[Step]:
    """Return one run with default settings on the pictures of a recipe."""
    for kind, paths in (
        ("crops", found(unpacked, recipe.positives)),
        ("photos", photos_of(recipe, unpacked)),
    ):
        (scratch / kind).mkdir()
        for path in paths:
            path.rename(scratch / kind / path.name)
    return [Step(scratch / "crops", scratch / "photos")]


class FacePictures(NamedTuple):
    """What face models are trained on; see `face_pictures`.

    Attributes
    ----------
    faces : Path
        List of the faces.
    photos, turned : Path
        Folders of photos without faces.
    people : Path
        List of photos of people, as they are and turned, with the boxes of their faces.
    """

    faces: Path
    photos: Path
    turned: Path
    people: Path

    @classmethod
    def written(cls, unpacked: Path, scratch: Path) -> FacePictures:
        """Write the pictures."""
        n_threads, photos, turned = os.cpu_count() or 1, unpacked / "negatives-train", scratch / "turned"
        faces = write_faces(unpacked / "faces-train", scratch / "faces", FACE_WINDOW, n_threads)
        write_turned_photos(photos, turned, n_threads)
        people = write_turned_people(unpacked / "faces-scenes-train", scratch / "people", n_threads)
        return cls(faces, photos, turned, people)


def face_training(_: Recipe, unpacked: Path, scratch: Path) -> list[Step]:
    """Return four runs.

    The first makes few small stages, which see most windows, from faces as they are; the second strict ones, from all of
    `face_pictures`; the third laxer ones, for which photos of people give negatives, too. The fourth goes on with the stages
    that both begin with in another way: larger stages, more samples, people also turned.
    """
    faces, photos, turned, turned_people = FacePictures.written(unpacked, scratch)
    plain, people = scratch / "plain", scratch / "people.txt"
    link_faces(unpacked / "faces-train", plain)
    list_people(unpacked / "faces-scenes-train", people)
    first = replace(
        FACE_SETTINGS, hit_rate=0.998, max_stages=5, max_samples=28_000, copies=1, mirror=Mirror.YES
    )
    strict = replace(FACE_SETTINGS, hit_rate=0.999, max_stages=15)
    large = replace(FACE_SETTINGS, hit_rate=0.998, max_stages=17, max_weak=400, max_samples=44_000)
    return [
        Step(plain, photos, first),
        Step(faces, photos, strict, (turned,)),
        Step(faces, photos, FACE_SETTINGS, (turned, people)),
        Step(faces, photos, large, (turned, turned_people), continues=(2, N_SHARED)),
    ]


def small_face_training(_: Recipe, unpacked: Path, scratch: Path) -> list[Step]:
    """Return one run, of stumps in small stages."""
    faces, photos, turned, people = FacePictures.written(unpacked, scratch)
    return [Step(faces, photos, SMALL_FACE_SETTINGS, (turned, people))]


def both_faces(models: Sequence[Cascade]) -> Cascade:
    """Return the third and the fourth run's models in a row, without what they share and the third's last stages."""
    return models[2].first_stages(N_OF_THIRD).followed_by(models[3], skip=N_SHARED)


def small_enough(models: Sequence[Cascade]) -> Cascade:
    """Return as many stages of the last run's model as have data of at most `MAX_BYTES` in C."""
    model = models[-1]
    sizes = [c_bytes(model.first_stages(n)) for n in range(1, model.n_stages + 1)]
    return model.first_stages(sum(size <= MAX_BYTES for size in sizes))


def c_bytes(cascade: Cascade) -> int:
    """Return the size of a model's data in C, by the comment of the exported file."""
    text = CSource().dump(cascade.without_unused_features(), Path("model.h")).decode()
    return int(re.search(r"data of the model: ([\d,]+) bytes", text)[1].replace(",", ""))


@dataclass(frozen=True)
class Recipe:
    """What a model is made of.

    Attributes
    ----------
    finds, not_for, data, terms, made : str
        Sentences of the card.
    archives : tuple of str
        Names without suffix.
    positives, negatives : tuple of str
        Patterns of pictures below the unpacked archives.
    tests : tuple of TestSet
        Scenes.
    left_out : str
        List of negatives, below them, in which the object was seen; none if empty.
    steps : callable
        Takes recipe, folder of the unpacked archives and scratch folder; returns the runs.
    window : Size or None
        Of training; proposed from the crops if None.
    finished : callable
        Takes the models of all runs, returns the one to be kept.
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
    made: str = "default settings, altered copies of the crops"
    steps: Callable[[Recipe, Path, Path], list[Step]] = default_training
    window: Size | None = None
    finished: Callable[[Sequence[Cascade]], Cascade] = itemgetter(-1)


FACES = Recipe(
    finds="upright frontal faces of 20 pixels and more",
    not_for="profiles, faces turned or tilted by more than about 15 degrees, masked faces, or any decision about a person. "
    "Neural detectors find more faces with fewer false alarms. The training photos show mostly adults, as the web and "
    "newspapers of around 2005 did: expect it to work less well on others",
    data="{crops} pictures of frontal faces, and {photos} photos, graphics and textures without faces, each also turned by 180 "
    "degrees; in the last stages also 351 photos of people, their faces left out. The faces are those of Caltech 10,000 Web Faces, Labeled Faces in the Wild, and OpenCV's own training file (three "
    "of its ten variants of each face); of each there is an altered copy, half of them dithered, as `tools/face_pictures.py` makes it. Side: 2.6 times "
    "the mean of the eye distance and the distance from the eyes to the mouth",
    terms="None of the pictures is part of this project. They were gathered from the web and from newspapers for research, without "
    "the consent of those in them: keep that in mind where you use the model",
    made="two models in a row, trees of depth 2 with real-valued leaves; which stages are kept was chosen on scenes for development",
    archives=(
        "faces-train",
        "negatives-train",
        "faces-scenes-train",
        "faces-test-mitcmu",
        "faces-test-caltech",
    ),
    positives=tuple(f"faces-train/{source}/*.png" for source in SOURCES),
    negatives=("negatives-train/*.jpg", f"faces-scenes-train/images/*[!{FOR_DEVELOPMENT}].jpg"),
    tests=(
        TestSet(
            "MIT+CMU, frontal",
            "faces-test-mitcmu/boxes.json",
            matching_rule("viola-jones"),
            FACE_FALSE_ALARMS,
        ),
        TestSet(
            "Caltech 10,000 Web Faces, photos kept apart",
            "faces-test-caltech/boxes.json",
            matching_rule("viola-jones"),
            FACE_FALSE_ALARMS,
        ),
    ),
    steps=face_training,
    window=FACE_WINDOW,
    finished=both_faces,
)

RECIPES: Mapping[str, Recipe] = {
    "frontalface": FACES,
    "frontalface-small": replace(
        FACES,
        finds="upright frontal faces of 20 pixels and more, on boards with little memory: in C, its data are {c_bytes} bytes "
        "(`vjcascade convert --to c`). Where memory is no matter, `frontalface` finds more",
        data=FACES.data.replace("in the last stages also", "and"),
        made="stumps in small stages; the stages kept are those that fit into 20 KB in C",
        steps=small_face_training,
        finished=small_enough,
    ),
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
            train_models(recipe, unpacked, Path(scratch), work, resume=arguments.resume)
        models = [Cascade.load(folder / "cascade.xml") for folder in run_folders(work)]
        cascade = recipe.finished(models).without_unused_features()
        tables = "\n\n".join(measured(cascade, test, unpacked) for test in recipe.tests)
    text = card(name, recipe, cascade, work, tables)
    cascade.save(MODELS / f"{name}.xml")
    write_atomic(MODELS / f"{name}.md", text.encode())
    print(f"{MODELS / f'{name}.xml'} written")


def train_models(recipe: Recipe, unpacked: Path, scratch: Path, work: Path, *, resume: bool) -> None:
    """Train step after step, each in a folder of its own, numbered, in the work folder."""
    for number, step in enumerate(recipe.steps(recipe, unpacked, scratch), start=1):
        folder = work / str(number)
        resumes = resume and (folder / "cascade.xml").exists()
        before = None
        if number > 1 and not resumes:
            before = scratch / f"before-{number}.xml"
            earlier, n_stages = step.continues or (number - 1, None)
            model = Cascade.load(work / str(earlier) / "cascade.xml")
            model.first_stages(model.n_stages if n_stages is None else n_stages).save(before)
        with TrainingLog() as log:
            cascade = train(
                step.positives,
                step.negatives,
                folder,
                step.settings,
                window=recipe.window,
                more_negatives=step.more_negatives,
                continue_from=before,
                resume=resumes,
                overwrite=not resumes,
                listener=log,
            )
        log.finish(cascade, folder / "cascade.xml")


def run_folders(work: Path) -> list[Path]:
    """Return the folders of the runs, in order."""
    return sorted(work.glob("[1-9]"))


def photos_of(recipe: Recipe, unpacked: Path) -> list[Path]:
    """Return the photos of a recipe in which the object is not: none of people, where it is their faces."""
    left_out = set((unpacked / recipe.left_out).read_text().split()) if recipe.left_out else set()
    patterns = [one for one in recipe.negatives if "faces-scenes" not in one]
    return [path for path in found(unpacked, patterns) if path.name not in left_out]


def found(unpacked: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of patterns, in order."""
    return [path for pattern in patterns for path in sorted(unpacked.glob(pattern))]


def measured(cascade: Cascade, test: TestSet, unpacked: Path) -> str:
    """Return what a model finds in the scenes of a set, in Markdown."""
    scenes = read_test(unpacked / test.boxes)
    protocol = Protocol(rule=test.rule, counts=test.false_alarms)
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


def read_test(boxes: Path) -> Scenes:
    """Return the scenes of a set; of faces, the frontal ones."""
    if boxes.suffix != ".json":
        return read_scenes(boxes)
    made = boxes.with_name("frontal.json")
    made.write_text(json.dumps(coco(json.loads(boxes.read_text()), boxes.parent, without=["rotated"])))
    return read_scenes(made)


def card(name: str, recipe: Recipe, cascade: Cascade, work: Path, tables: str) -> str:
    """Return the model card, in Markdown."""
    runs = [open_run(folder) for folder in run_folders(work)]
    data = cascade.metadata["data"]
    seconds = sum(
        stage.seconds or 0
        for one in runs
        for number, stage in one.history.stages.items()
        if number <= one.cascade.n_stages
    )
    crops, photos = f"{data['positives']:,}", f"{data['photos']:,}"
    weak = "stumps" if len(cascade.nodes) == cascade.n_trees else "trees"
    return f"""# {name}.xml

Finds {recipe.finds.format(c_bytes=f"{c_bytes(cascade):,}")}. Window {cascade.window}, {cascade.n_stages} stages, {cascade.n_trees} {weak} over
{len(cascade.features)} upright Haar features. Use it with `vjcascade detect models/{name}.xml PICTURE`, from Python with
`vjcascade.Cascade.load`, or in OpenCV 4.

**Not for** {recipe.not_for}.

## Data
{recipe.data.format(crops=crops, photos=photos)}. A fifth of both was held out of training, for the rates below.
{recipe.terms}.

## How it was made
`python tools/build_models.py {name} --data FOLDER` rebuilds it: {recipe.made}; {settings_of(cascade)}. It took {duration(seconds)} on
{pluralize(default_threads(), "processor")} of a shared machine. Card written with Python {platform.python_version()}.

## Stages
Hit rates on held-out crops and their copies, false-alarm rates on held-out negatives of the stage; "so far" is the whole cascade, its
false-alarm rate per window. These are of single windows: what is found in scenes is below.

{stage_rows(cascade)}
{stages_added(cascade, runs[-1].cascade)}
## Test scenes
Pictures that had no part in training, and on which nothing was chosen. Detections are ranked by their ranking scores; the operating
point is that of default settings.

{tables}
"""


def settings_of(cascade: Cascade) -> str:
    """Return the settings that a run's stages were trained with, in words."""
    settings = cascade.metadata["settings"]
    return (
        f"booster {settings['booster']}, hit rate {settings['hit_rate']} and false-alarm rate "
        f"{settings['false_alarm_rate']} a stage, at most {settings['max_weak']} weak classifiers in one, seed {settings['seed']}"
    )


def stages_added(cascade: Cascade, last: Cascade) -> str:
    """Return the table of the stages that `Cascade.followed_by` took from the last run's model, if any, in Markdown."""
    added = [one for one in cascade.metadata.get(CHANGES, ()) if "followed_by" in one]
    if not added:
        return ""
    first, skipped = cascade.n_stages - added[-1]["stages"] + 1, added[-1]["skipped"]
    return f"""
Stages {first} to {cascade.n_stages} are stages {skipped + 1} to {last.n_stages} of another model, which begins with the same {skipped}; rates "so far" are
that model's. {settings_of(last).capitalize()}.

{stage_rows(last, first=skipped + 1)}
"""


if __name__ == "__main__":
    main()
