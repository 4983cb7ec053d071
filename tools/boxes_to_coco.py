r"""Make COCO's JSON of the boxes of face scenes, which `vjcascade evaluate` and `tune` read.

``python tools/boxes_to_coco.py FOLDER --output scenes.json`` reads ``FOLDER/boxes.json``: a list of scenes, each with
its `file`, maybe its `subset`, and its `faces`, each with a `box` and maybe `frontal`. Faces that are not frontal become
regions to ignore. Give the folder to ``--pictures`` of the commands.

The 87 frontal scenes of MIT+CMU, judged as figures for OpenCV's models are published:

    python tools/boxes_to_coco.py faces-test-mitcmu --output mitcmu.json --without rotated
    vjcascade evaluate haarcascade_frontalface_alt2 mitcmu.json --pictures faces-test-mitcmu --rule viola-jones \
        --score neighbors --ties in-order --false-alarms 0 5 10 31 50

that is: groups of two windows or more at a scale factor of 1.1, objects of any size, ranked by their numbers of windows,
equal ones one after the other in the order of the scenes. alt2 finds 69.3, 87.5, 88.1, 90.8 and 91.4 % at these numbers
of false alarms, alt 60.4, 83.5, 87.5, 90.1 and 90.1 %. With equal scores taken together, as usual here, alt2 finds 68.0,
84.5, 87.5, 89.1 and 89.1 %: no luck in the order of pictures counts then.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vjcascade.files import write_atomic


def coco(scenes: Sequence[dict[str, Any]], folder: Path, without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the scenes in COCO's form, those of some subsets left out; names of pictures are relative to the folder."""
    kept = [scene for scene in scenes if scene.get("subset") not in without]
    annotations = [
        {
            "id": 0,
            "image_id": number,
            "category_id": 1,
            "bbox": face["box"],
            "area": face["box"][2] * face["box"][3],
            "iscrowd": int(not face.get("frontal", True)),
        }
        for number, scene in enumerate(kept, start=1)
        for face in scene["faces"]
    ]
    return {
        "images": [
            {
                "id": number,
                "file_name": _name(scene["file"], folder),
                "width": scene["width"],
                "height": scene["height"],
            }
            for number, scene in enumerate(kept, start=1)
        ],
        "annotations": [{**one, "id": number} for number, one in enumerate(annotations, start=1)],
        "categories": [{"id": 1, "name": "face"}],
    }


def _name(file: str, folder: Path) -> str:
    return file if (folder / file).exists() else f"images/{file}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="has boxes.json and the pictures")
    parser.add_argument("--output", type=Path, required=True, help="the file to write")
    parser.add_argument("--without", nargs="*", default=[], help="subsets to leave out, as rotated")
    arguments = parser.parse_args()
    scenes = json.loads((arguments.folder / "boxes.json").read_text())
    made = coco(scenes, arguments.folder, arguments.without)
    write_atomic(arguments.output, json.dumps(made).encode())
    ignored = sum(one["iscrowd"] for one in made["annotations"])
    print(f"{len(made['images'])} scenes, {len(made['annotations']) - ignored} faces, {ignored} to ignore")


if __name__ == "__main__":
    main()
