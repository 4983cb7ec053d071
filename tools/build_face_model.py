"""Rebuild models/frontalface.xml and its card from the face data, and measure it.

Run it from anywhere: ``python tools/build_face_model.py --data FOLDER``, where FOLDER holds faces-train.tar.gz,
negatives-train.tar.gz, and for the measurement faces-test-mitcmu.tar.gz, faces-test-caltech.tar.gz and
negatives-test.tar.gz. A run that was stopped goes on with ``--resume``. With ``--record RUN`` the card also tells what it
took to train another, larger cascade.
"""

from __future__ import annotations

import argparse
import platform
import tarfile
import tempfile
import time
from pathlib import Path

from face_scenes import Figures, measure, table
from model_cards import stage_rows

from vjcascade import Cascade, Preset, Size, preset_settings, train
from vjcascade.boosters.costs import parse_costs
from vjcascade.cli.training_log import TrainingLog
from vjcascade.features import count_haar
from vjcascade.files import write_atomic
from vjcascade.messages import duration
from vjcascade.report.training_run import open_run

PROJECT = Path(__file__).resolve().parents[1]
MODEL = PROJECT / "models" / "frontalface.xml"
POSITIVES = ("caltech10k/train", "lfw/train")
WINDOW = Size(24, 24)
SETTINGS = preset_settings(
    Preset.NORMAL,
    max_samples=12_000,
    max_stages=20,
    max_weak=300,
    hit_rate=0.997,
    target_false_alarm_rate=6e-6,
    baseline=False,
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=PROJECT.parent / "shared" / "data", help="folder of the archives"
    )
    parser.add_argument(
        "--work", type=Path, default=PROJECT / "build" / "frontalface", help="folder of the run"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the run in the work folder")
    parser.add_argument(
        "--measure-only", action="store_true", help="take the model that the work folder holds"
    )
    parser.add_argument("--record", type=Path, help="folder of a run whose time and size the card tells")
    arguments = parser.parse_args()
    began = time.perf_counter(), time.process_time()
    if not arguments.measure_only:
        with tempfile.TemporaryDirectory() as folder:
            train_model(arguments.data, Path(folder), arguments.work, resume=arguments.resume)
    wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    cascade = Cascade.load(arguments.work / "cascade.xml")
    figures = measure(cascade, arguments.data)
    MODEL.parent.mkdir(exist_ok=True)
    cascade.save(MODEL)
    text = card(cascade, figures) + (record(arguments.record) if arguments.record else "")
    write_atomic(MODEL.with_suffix(".md"), text.encode())
    print(f"{MODEL} written; training took {wall:.0f} s, {cpu:.0f} s of processor time")


def train_model(data: Path, scratch: Path, work: Path, *, resume: bool) -> None:
    """Unpack the training pictures and train."""
    for source in POSITIVES:
        unpack(data / "faces-train.tar.gz", f"faces-train/{source}/", scratch)
    unpack(data / "negatives-train.tar.gz", "negatives-train/", scratch)
    with TrainingLog() as log:
        cascade = train(
            scratch / "faces-train",
            scratch / "negatives-train",
            work,
            SETTINGS,
            window=WINDOW,
            resume=resume,
            overwrite=not resume,
            listener=log,
        )
    log.finish(cascade, work / "cascade.xml")


def unpack(archive: Path, below: str, target: Path) -> None:
    """Unpack the part of an archive whose names begin with `below`."""
    with tarfile.open(archive) as tar:
        tar.extractall(target, [m for m in tar.getmembers() if m.name.startswith(below)], filter="data")


def card(cascade: Cascade, figures: Figures) -> str:
    """Return the model card, in Markdown."""
    settings, data = cascade.metadata["settings"], cascade.metadata["data"]
    return f"""# frontalface.xml

Finds upright frontal faces. Window {cascade.window}, {cascade.n_stages} stages, {cascade.n_trees} stumps over
{len(cascade.features)} upright Haar features. Use it with `vjcascade detect models/frontalface.xml PICTURE`, from Python with
`vjcascade.Cascade.load`, or in OpenCV 4.

**Not for** profiles, faces turned or tilted by more than about 15 degrees, masked faces, or any decision about a
person. Neural detectors find more faces with fewer false alarms. The training photos show mostly adults, as
the web and newspapers of around 2005 did: expect it to work less well on others.

## Data
{data["positives"]:,} crops of frontal faces (Caltech 10,000 Web Faces and Labeled Faces in the Wild; side 2.6 times the mean of the eye distance
and the distance from the eyes to the mouth) and {data["photos"]:,} photos, graphics and textures without faces. A fifth of both was held out of training,
for the rates below. None of the pictures is part of this project. They were gathered from the web and from newspapers for research, without the consent of
those in them: keep that in mind where you use the model.

## How it was made
`python tools/build_face_model.py --data FOLDER` rebuilds it; the settings are in the file's metadata: booster
{settings["booster"]}, costs {parse_costs(settings["costs"])}, mode {settings["mode"]}, hit rate {settings["hit_rate"]} and false-alarm rate {settings["false_alarm_rate"]} a stage,
at most {settings["max_weak"]} weak classifiers a stage, {settings["max_samples"]:,} windows a stage, seed {settings["seed"]}. Card written with Python {platform.python_version()}.

## Stages
Hit rates on held-out faces, false-alarm rates on held-out negatives of the stage; "natural" is threshold 0, where the costs
alone decide; "so far" is the whole cascade, its false-alarm rate per window. Thresholds were tuned on the same held-out faces, so the hit rates are a little
too good; the test scenes below had no part in anything.

{stage_rows(cascade)}

## Test scenes
Pictures that had no part in training; scale factor 1.1, smallest face 20 pixels. A detection counts if its
intersection over union with a true box is at least 0.5. Only the frontal parts of the sets.

{table(figures)}
"""


def record(folder: Path) -> str:
    """Return what a run took, in Markdown."""
    run = open_run(folder)
    stages = [run.history.stages[number] for number in sorted(run.history.stages)]
    last, settings = run.records[run.cascade.n_stages], run.settings
    if settings is None or len(stages) < run.cascade.n_stages:
        raise SystemExit(f"{folder} does not hold the whole history of a run")
    fewer = [one.stage for one in run.records.values() if one.n_negatives < settings.negatives_for(10**9)]
    seconds, memory = sum(one.seconds or 0 for one in stages), max(one.memory or 0 for one in stages)
    return f"""
## What a cascade of Viola and Jones's size takes
Not this model, but a measure of the trainer, on two processors of a shared machine: {run.history.counts["positives"]:,} faces, {settings.negatives_for(run.history.counts["positives"]):,} negatives a stage, all
{count_haar(run.cascade.window, settings.mode):,} features of mode {settings.mode}, hit rate {settings.hit_rate} and false-alarm rate {settings.false_alarm_rate} a stage, until {settings.target_false_alarm_rate:g} in all or
{settings.max_stages} stages. It took {duration(seconds)} and {memory / 2**30:.1f} GiB: {run.cascade.n_stages} stages of {run.cascade.n_trees} stumps, estimated false-alarm rate
{last.overall_false_alarm_rate:.1e} a window, {last.overall_held_out_hit_rate:.1%} of the held-out faces found. {f"From stage {min(fewer)} on, the photos held fewer negatives than asked for." if fewer else ""}
"""


if __name__ == "__main__":
    main()
