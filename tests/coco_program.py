"""Average precision by COCO's own program, and random scenes to ask it about (`import coco_program`)."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest


def random_scene(rng, n_objects, n_found, *, ties=False):
    """Return detections, scores, true boxes and crowds, many of which overlap."""
    truth = np.column_stack([rng.uniform(0, 60, (n_objects, 2)), rng.uniform(8, 30, (n_objects, 2))])
    crowds = np.column_stack(
        [rng.uniform(0, 60, (n_objects // 3, 2)), rng.uniform(20, 40, (n_objects // 3, 2))]
    )
    near = truth[rng.integers(0, n_objects, n_found)] if n_objects else np.full((n_found, 4), 20.0)
    boxes = near + rng.normal(0, 3, (n_found, 4)) * (rng.random((n_found, 1)) < 0.8)
    boxes[:, 2:] = boxes[:, 2:].clip(1)
    scores = rng.integers(0, 5, n_found).astype(float) if ties else rng.random(n_found)
    return boxes, scores, truth, crowds


def coco_average_precision(scenes, min_overlap):
    """Ask pycocotools."""
    coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    from pycocotools.cocoeval import COCOeval

    annotations, results = [], []
    for number, (boxes, scores, truth, crowds) in enumerate(scenes, start=1):
        for box, is_crowd in [*((box, 0) for box in truth), *((box, 1) for box in crowds)]:
            annotation = {
                "id": len(annotations) + 1,
                "image_id": number,
                "category_id": 1,
                "iscrowd": is_crowd,
            }
            annotations.append({**annotation, "bbox": box.tolist(), "area": float(box[2] * box[3])})
        for box, score in zip(boxes.tolist(), scores.tolist(), strict=True):
            results.append({"image_id": number, "category_id": 1, "bbox": box, "score": score})
    truth = coco.COCO()
    images = [{"id": number} for number in range(1, len(scenes) + 1)]
    truth.dataset = {
        "info": {},
        "images": images,
        "annotations": annotations,
        "categories": [{"id": 1, "name": "a"}],
    }
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(results), "bbox")
        evaluation.params.iouThrs = np.array([min_overlap])
        evaluation.params.maxDets = [10_000]
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation.eval["precision"].mean()
