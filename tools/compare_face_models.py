"""Compare models/frontalface.xml with OpenCV's face models on the same scenes, and write docs/face-models.md.

``python tools/compare_face_models.py --data FOLDER --opencv FOLDER``: the first folder holds faces-test-mitcmu.tar.gz and
faces-test-caltech.tar.gz, the second OpenCV's haarcascade_frontalface_*.xml, which come with every package of OpenCV 4.
"""

from __future__ import annotations

import argparse
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from build_models import FACE_FALSE_ALARMS, PROJECT, RECIPES, TestSet, read_test

from vjcascade import Cascade, Detector
from vjcascade.evaluation import Candidate, Evaluation, Protocol, Scenes, evaluate
from vjcascade.evaluation.curves import Score, Ties
from vjcascade.evaluation.evaluating import ModelResult
from vjcascade.evaluation.scan_costs import scan_costs
from vjcascade.files import write_atomic
from vjcascade.imaging import read_gray
from vjcascade.report.evaluation_charts import recall_chart

DOCS = PROJECT / "docs"
PEERS = ("alt2", "alt", "default", "alt_tree")
OURS = "frontalface"
SMALL = f"{OURS}-small"
CUT = (OURS, "alt2", "alt", "default")
"""Models that are tried with fewer stages, too."""

VIOLA_JONES = {10: 76.1, 31: 88.4, 50: 91.4, 65: 92.0, 78: 92.1, 95: 92.9, 167: 93.9}
"""Recall in % at false alarms, as published, on 130 scenes with 507 faces; here are 87 of them with 303."""

COLOURS = ("#c8553d", "#d98c7b", "#2a6f97", "#4f7d3a", "#8a5a9e", "#b07d12")
STYLE = """svg{font:11px sans-serif}text{fill:#555}.middle{text-anchor:middle}.end{text-anchor:end}
.grid{stroke:#ddd}.target{stroke:#999}.curve{fill:none;stroke-width:1.8}.dot{fill:#fff;stroke-width:2}
@media(prefers-color-scheme:dark){text{fill:#aaa}.grid{stroke:#3a3f46}.target{stroke:#777}.dot{fill:#1d2126}}"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=PROJECT.parent / "shared" / "data", help="folder of the archives"
    )
    parser.add_argument("--opencv", type=Path, required=True, help="folder of OpenCV's model files")
    arguments = parser.parse_args()
    DOCS.mkdir(exist_ok=True)
    files = {name: PROJECT / "models" / f"{name}.xml" for name in (OURS, SMALL)}
    files |= {name: arguments.opencv / f"haarcascade_frontalface_{name}.xml" for name in PEERS}
    cascades = {name: Cascade.load(file) for name, file in files.items()}
    sections = []
    with tempfile.TemporaryDirectory() as scratch:
        for test in RECIPES[OURS].tests:
            archive = test.boxes.split("/")[0]
            with tarfile.open(arguments.data / f"{archive}.tar.gz") as tar:
                tar.extractall(scratch, filter="data")
            sections.append(section(test, cascades, Path(scratch)))
    page = PAGE.format(sections="\n\n".join(sections), **sizes(cascades[OURS]))
    write_atomic(DOCS / "face-models.md", page.encode())
    print(f"{DOCS / 'face-models.md'} written")


def section(test: TestSet, cascades: dict[str, Cascade], unpacked: Path) -> str:
    """Return what models find in the scenes of a set, in Markdown; draw the curves."""
    scenes = read_test(unpacked / test.boxes)
    candidates = [Candidate(name, Detector(cascade)) for name, cascade in cascades.items()]
    tables = []
    for score, words in ((Score.RANKING, "ranking scores"), (Score.NEIGHBORS, "numbers of windows")):
        protocol = Protocol(rule=test.rule, counts=FACE_FALSE_ALARMS, score=score, ties=Ties.IN_ORDER)
        evaluation = evaluate(candidates, scenes, protocol)
        rows = {model.name: recalls(model, evaluation) for model in evaluation.models}
        tables.append(f"Ranked by {words}:\n\n{table(rows, test)}")
        if score == Score.RANKING:
            name = f"face-models-{test.boxes.split('/')[0].rsplit('-', 1)[1]}.svg"
            write_atomic(DOCS / name, chart(evaluation).encode())
    if is_of_viola_and_jones(test):
        rows = {
            name: fewer_stages(cascade, scenes, protocol) for name, cascade in cascades.items() if name in CUT
        }
        tables.append(f"{FEWER_STAGES}\n\n{table(rows, test)}")
    pictures = [read_gray(scene.path) for scene in scenes.scenes[::4]]
    costs = {name: scan_costs(cascade, pictures).mean_features for name, cascade in cascades.items()}
    cost = ", ".join(f"{name} {number:.1f}" for name, number in costs.items())
    n_objects, both = int(scenes.n_objects.sum()), "\n\n".join(tables)
    return f"""## {test.title}

{len(scenes)} scenes with {n_objects} faces; a hit: {test.rule}. Features that are looked at in a window, on average: {cost}.

![Recall against false alarms per picture]({name})

{both}"""


def fewer_stages(cascade: Cascade, scenes: Scenes, protocol: Protocol) -> dict[int, float]:
    """Return recall at each number of false alarms, of the model with the most stages that makes so many."""
    found: dict[int, float] = {}
    for n_stages in range(cascade.n_stages, 0, -1):
        detector = Detector(cascade.first_stages(n_stages), min_neighbors=1)
        evaluation = evaluate([Candidate("", detector)], scenes, protocol)
        (model,) = evaluation.models
        place = [figure.key for figure in evaluation.figures].index("point_false_alarms_per_picture")
        n_false_alarms = round(model.values[0, place] * len(scenes))
        found = {n: recall for n, recall in recalls(model, evaluation).items() if n <= n_false_alarms} | found
        if n_false_alarms >= FACE_FALSE_ALARMS[-1]:
            break
    return found


def recalls(model: ModelResult, evaluation: Evaluation) -> dict[int, float]:
    """Return a model's recall at each number of false alarms."""
    places = {figure.key: place for place, figure in enumerate(evaluation.figures)}
    return {n: float(model.values[0, places[f"recall_at_{n}"]]) for n in FACE_FALSE_ALARMS}


def table(rows: Mapping[str, Mapping[int, float]], test: TestSet) -> str:
    """Return recall of all models at numbers of false alarms, in Markdown."""
    lines = [
        f"| {name} | " + " | ".join(f"{100 * row[n]:.1f}" for n in FACE_FALSE_ALARMS) + " |"
        for name, row in rows.items()
    ]
    if is_of_viola_and_jones(test):
        published = (f"{VIOLA_JONES[n]:.1f}" if n in VIOLA_JONES else "" for n in FACE_FALSE_ALARMS)
        lines.append(f"| Viola and Jones, published | {' | '.join(published)} |")
    head = f"| recall in % at false alarms | {' | '.join(map(str, FACE_FALSE_ALARMS))} |"
    return "\n".join([head, "|---" * (len(FACE_FALSE_ALARMS) + 1) + "|", *lines])


def is_of_viola_and_jones(test: TestSet) -> bool:
    """Tell whether Viola and Jones published a curve on these scenes."""
    return "mitcmu" in test.boxes


def chart(evaluation: Evaluation) -> str:
    """Return the curves as an SVG file."""
    colours = "".join(
        f".curve.model-{n}{{stroke:{colour}}}.dot.model-{n}{{stroke:{colour}}}"
        for n, colour in enumerate(COLOURS)
    )
    names = "".join(
        f'<text x="330" y="{132 + 15 * n}" style="fill:{COLOURS[n]}">{model.name}</text>'
        for n, model in enumerate(evaluation.models)
    )
    drawn = recall_chart(evaluation)
    head, rest = drawn.split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{STYLE}{colours}</style>{names}{rest}'


def sizes(cascade: Cascade) -> dict[str, object]:
    return {"window": cascade.window, "n_stages": cascade.n_stages, "n_trees": f"{cascade.n_trees:,}"}


FEWER_STAGES = """Ranked by numbers of windows, each model with the most stages that makes so many false alarms: Viola and Jones drew their curve so, by opening
and taking off the last stages. A whole model ends where it has no more windows to group."""

PAGE = """# Face models compared

`models/frontalface.xml` ({window}, {n_stages} stages, {n_trees} trees), the small one for boards (20 KB of data in C), and the four frontal face models of
OpenCV, all in one run of our detector, which gives OpenCV's boxes: scale factor 1.1, objects of any size, all groups of two windows or more. `python tools/compare_face_models.py` repeats it.
Nothing was chosen on these scenes. Detections are ranked once by the ranking score of this package, and once by the number of windows in the
group, the only score that OpenCV gives; equal ones count one after the other.

{sections}

## What to expect of faces in the wild

These scenes hold upright faces that look into the camera. Of faces that are turned, partly hidden or badly lit, all of these models find few, and a
small neural detector finds most: YuNet, which OpenCV offers as `FaceDetectorYN`, reaches average precisions of 88.4, 86.6 and 75.0 % on the easy, medium and hard
faces of WIDER FACE (published with the model). If you detect people's faces, take such a model. This one is for studies, for small machines without a network,
and for code that was written for OpenCV's files.
"""


if __name__ == "__main__":
    main()
