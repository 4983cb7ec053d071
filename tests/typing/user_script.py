"""A user's script with the whole public interface, for type checkers; lines that must be wrong say so.

It is only read, never run; see `tests/test_typing.py`.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import vjcascade
from vjcascade import (
    Candidate,
    Cascade,
    CostBoostClassifier,
    DenseDetector,
    Detection,
    DetectionMemory,
    Detections,
    Detector,
    HaarTransformer,
    OperatingPoint,
    Preset,
    ProgressPrinter,
    Size,
    TrainingSettings,
)
from vjcascade.boosters import decision_threshold, make_booster, parse_costs
from vjcascade.training import Event, StageDone, read_settings

# Models.
cascade = Cascade.load(Path("model/cascade.xml"))
window: Size = cascade.window
sizes: NDArray[np.int32] = cascade.stage_sizes
shorter: Cascade = cascade.first_stages(5).with_shifted_thresholds(-0.1, n_last=1).without_unused_features()
shorter.save("shorter.xml")
both: Cascade = shorter.followed_by(cascade, skip=5)
text: str = str(cascade) + repr(cascade)
cascade.first_stages("5")  # error: arg-type
Cascade.load(5)  # error: arg-type

# Detection in one picture: every setting is known by name and type.
image: NDArray[np.uint8] = vjcascade.read_image("picture.png")
found: Detections = cascade.detect(
    image,
    scale_factor=1.1,
    min_neighbors=3,
    min_size=(24, 24),
    max_size=Size(200, 200),
    min_ranking_score=1.5,
    n_threads=2,
)
cascade.detect(image, min_neighbours=3)  # error: call-arg
cascade.detect(image, min_size=24)  # error: arg-type
dense: Detections = cascade.detect_dense(
    image, min_neighbors=3, stride=2, group="nms", angles=(-30, 0, 30), region=(0, 0, 90, 90), mask=image > 9
)
cascade.detect_dense(image, stride="2")  # error: arg-type
cascade.detect_dense(image, strides=2)  # error: call-arg
vjcascade.detect(image, cascade, min_neighbors=3)
vjcascade.detect_dense(image, cascade, antialias=True, near_misses=2)
vjcascade.detect(cascade, image)  # error: arg-type, arg-type

# What is found.
for detection in found.sorted("score", ascending=True).filter(min_neighbors=4, region=(0, 0, 100, 100)):
    x, y, w, h = detection.box
    position: int = detection.box.x + x + y + w + h
    score: float = detection.ranking_score
    detection.label  # error: attr-defined
one: Detection = found[0]
some: Detections = found[found.scores > 1][:3]
rows: list[dict[str, float]] = found.to_dicts()
drawn: NDArray[np.uint8] = found.draw(image, scores=False)
cut: NDArray[np.uint8] = found.crops(image, margin=0.1)[0]
found.to_pandas()
found.to_supervision()
found.sorted("scores")  # error: arg-type
found.filter(minimum=3)  # error: call-arg
wrong: str = found[0]  # error: assignment

# Detectors for many pictures.
detector = Detector([cascade, shorter], scale_factor=1.2, min_neighbors=2, n_threads=1)
each: list[Detections] = detector.detect_each(image)
Detector(cascade, 1.2)  # error: call-arg
turned = DenseDetector(cascade, scale_factor=1.2, min_neighbors=2, angles=(0, 90), overlap=0.4)
memory = DetectionMemory(5, turned)
for frame in vjcascade.read_frames("drive.mp4", every=2):
    memory.detect(frame.image)
    when: float = frame.seconds
previous = vjcascade.PreviousFrame()
following: Detections = Detector(cascade).detect(image, previous=previous)
Detector(cascade).detect(image, previous=image)  # error: arg-type
Detector(cascade, angles=(0, 90))  # error: call-arg

# Training.
settings: TrainingSettings = vjcascade.preset_settings("quick", max_stages=3, costs="4:1", features="lbp")
settings = vjcascade.preset_settings(Preset.THOROUGH, baseline=False)
settings = read_settings("signs.toml", preset="quick", hit_rate=0.99)
vjcascade.preset_settings("fast")  # error: arg-type
vjcascade.preset_settings("quick", stages=3)  # error: call-arg
vjcascade.read_settings("signs.toml", max_stages="3")  # error: arg-type


def watch(event: Event) -> None:
    """Print the rate of each stage."""
    if isinstance(event, StageDone):
        print(event.record.tuned.hit_rate)


trained: Cascade = vjcascade.train("crops", "photos", "model", settings, listener=ProgressPrinter())
trained = vjcascade.train("crops", "photos", settings=settings, window=(24, 24), listener=watch)
vjcascade.train("crops", "photos", settings=settings, listener=5)  # error: arg-type
vjcascade.train("crops", "photos", setting=settings)  # error: call-arg

# Measuring and tuning.
scenes = vjcascade.read_scenes("scenes.txt")
measured = vjcascade.evaluate([Candidate("mine", Detector(cascade))], scenes)
share: float = measured.models[0].used.recall
point: OperatingPoint | None = OperatingPoint.of(cascade)
rule = vjcascade.matching_rule("iou", min_overlap=0.7)
vjcascade.matching_rule("iou", overlap=0.7)  # error: call-arg
vjcascade.evaluate([cascade], scenes)  # error: list-item

# Boosters.
booster = make_booster("cost-generalized", 4, prior="sample")
make_booster("cost-generalized", 4, prior="even")  # error: arg-type
threshold = decision_threshold("theory", costs=parse_costs(4))
classifier = CostBoostClassifier(costs=20, n_estimators=40)
features = HaarTransformer()

# The drop-in for cv2.
faces = vjcascade.compat.CascadeClassifier(vjcascade.compat.data.find("frontalface"))
boxes = faces.detectMultiScale(image, scaleFactor=1.1, minNeighbors=3, minSize=(30, 30))
vjcascade.no_such_name  # error: attr-defined
