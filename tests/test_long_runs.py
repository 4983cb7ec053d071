"""Memory does not grow with the number of frames.

VJCASCADE_LONG_RUN=10000 makes the runs as long as wanted; the suite's are short.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
N_FRAMES = int(os.environ.get("VJCASCADE_LONG_RUN", "300"))
MAX_GROWTH = 2.0
"""MB; the same however long the run is."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").is_file(), reason="the memory in use is read from /proc"
)

PROGRAM = """
import os, sys
from pathlib import Path
import numpy as np
import builders
from vjcascade import Detector
from vjcascade.detection import DenseDetector, DetectionMemory

def megabytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

def detect_all(detect, frames):
    for frame in frames:
        detect(frame)

def search_video(frames):
    from vjcascade.cli.main import run
    from vjcascade.cli import inputs
    from vjcascade.video import Frame
    def camera(_):
        yield from (Frame(i, i / 30, image) for i, image in enumerate(frames))
    inputs.camera_frames = camera
    model = Path(sys.argv[3], "model.xml")
    builders.accept_all(n_stages=1).save(model)
    words = ["--camera", "0", "--format", "jsonl", "--draw", sys.argv[3], "--scale-factor", "10"]
    assert run(["detect", str(model), *words, "-o", sys.argv[3] + "/found.jsonl"]) == 0

kind, n_frames = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(1)
pictures = [np.dstack([builders.smooth_noise(rng, 48, 64)] * 3) for _ in range(10)]
cascade = builders.random_cascade(rng, tree_share=0.5, bar=0.3)
seen = []
def frames():
    for i in range(n_frames):
        if i in (n_frames // 3, n_frames - 1):
            seen.append(megabytes())
        yield pictures[i % len(pictures)]
if kind == "detector":
    detect_all(Detector(cascade, n_threads=2).detect, frames())
elif kind == "memory":
    detect_all(DetectionMemory(3, DenseDetector(cascade, stride=4, n_threads=2)).detect, frames())
else:
    search_video(frames())
print("MB", *seen)
"""


@pytest.mark.parametrize("kind", ["detector", "memory", "search"])
def test_memory_does_not_grow(tmp_path, kind):
    words = [sys.executable, "-c", PROGRAM, kind, str(N_FRAMES), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'tests'}"}
    ran = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    _, early, late = ran.stdout.splitlines()[-1].split()
    assert float(late) - float(early) < MAX_GROWTH
