"""Scripts as tutorials have them, unchanged but for the import, or unchanged after `install`."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vjcascade import compat
from vjcascade.compat import __main__ as module

PROJECT = Path(compat.__file__).parents[2]

SCRIPT = """
face_cascade = cv2.CascadeClassifier(cv2.data.haarcascades + 'haarcascade_frontalface_default.xml')
eye_cascade = cv2.CascadeClassifier(cv2.data.haarcascades + 'haarcascade_eye.xml')
if face_cascade.empty():
    raise IOError('Unable to load the face cascade classifier xml file')
img = cv2.imread('picture.png')
gray = cv2.cvtColor(img, cv2.COLOR_BGR2GRAY)
faces = face_cascade.detectMultiScale(gray, 1.3, 5)
n_eyes = 0
for (x, y, w, h) in faces:
    cv2.rectangle(img, (x, y), (x + w, y + h), (255, 0, 0), 2)
    roi_gray = gray[y:y + h, x:x + w]
    roi_color = img[y:y + h, x:x + w]
    eyes = eye_cascade.detectMultiScale(roi_gray)
    for (ex, ey, ew, eh) in eyes:
        cv2.rectangle(roi_color, (ex, ey), (ex + ew, ey + eh), (0, 255, 0), 2)
        n_eyes += 1
cv2.imwrite('out.png', img)
print('faces', len(faces), 'eyes', n_eyes)
"""

CAMERA = """
faceCascade = cv2.CascadeClassifier(cv2.data.haarcascades + 'haarcascade_frontalface_default.xml')
video_capture = cv2.VideoCapture('frames_%d.png')
n = 0
while True:
    ret, frame = video_capture.read()
    if not ret:
        break
    gray = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
    faces = faceCascade.detectMultiScale(
        gray,
        scaleFactor=1.1,
        minNeighbors=5,
        minSize=(30, 30),
        flags=cv2.CASCADE_SCALE_IMAGE
    )
    for (x, y, w, h) in faces:
        cv2.rectangle(frame, (x, y), (x+w, y+h), (0, 255, 0), 2)
    n += len(faces)
    if frame is None or cv2.waitKey is None:
        break
video_capture.release()
print('faces', n)
"""

MISSING = """
cascade = cv2.CascadeClassifier('nowhere.xml')
try:
    cascade.detectMultiScale(cv2.imread('picture.png'))
except cv2.error as error:
    print('!empty()' in str(error), 'nowhere.xml' in str(error))
"""

NO_FACE = """
import numpy as np
def faces_in(img):
    return cascade.detectMultiScale(img, 1.3, 5)
cascade = cv2.CascadeClassifier(cv2.data.find('frontalface') if hasattr(cv2.data, 'find') else MODEL)
faces, many = faces_in(np.zeros((90, 90), np.uint8)), faces_in(cv2.imread('picture.png'))
if faces == ():
    print('equal')
if faces is ():
    print('same')
if isinstance(faces, tuple) and type(faces) is tuple and not faces:
    print('tuple')
if many is not () and not isinstance(many, tuple) and many.shape[1] == 4:
    print('array')
"""
"""How course material and scripts ask whether anything was found."""

STARTS = {
    "import changed": "import vjcascade.compat as cv2",
    "after install": "import vjcascade.compat\nvjcascade.compat.install()\nimport cv2",
    "run by ours": "import cv2",
    "install after import": "import cv2\nfrom vjcascade.compat import install\ninstall()",
}


@pytest.fixture
def folder(tmp_path):
    """Return a working directory with a picture of a face, and with two frames of a film of it."""
    import skimage.data

    pixels = Image.fromarray(skimage.data.astronaut()[:300, 80:400])
    for name in ("picture.png", "frames_0.png", "frames_1.png"):
        pixels.save(tmp_path / name)
    return tmp_path


def printed(script, start, folder):
    """Run a script in a process of its own and return what it printed."""
    program = ["-c", f"{STARTS[start]}\n{textwrap.dedent(script)}"]
    if start == "run by ours":
        (folder / "script.py").write_text(program[1])
        program = ["-m", "vjcascade.compat", "script.py"]
    run = subprocess.run(
        [sys.executable, *program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


@pytest.mark.oracle
@pytest.mark.parametrize("start", ["import changed", "after install"])
def test_faces_with_eyes(start, folder, opencv_models, monkeypatch):
    link = folder / ".venv" / "share" / "opencv4" / "haarcascades"  # a place where files are looked for
    link.parent.mkdir(parents=True)
    link.symlink_to(opencv_models)
    assert printed(SCRIPT, start, folder) == ["faces", "1", "eyes", "2"]
    assert np.asarray(Image.open(folder / "out.png")).shape == (300, 320, 3)


@pytest.mark.oracle
def test_frames_of_a_camera(folder, opencv_models):
    link = folder / ".venv" / "share" / "opencv4" / "haarcascades"
    link.parent.mkdir(parents=True)
    link.symlink_to(opencv_models)
    assert printed(CAMERA, "run by ours", folder) == ["faces", "2"]


@pytest.mark.parametrize("start", ["import changed", "install after import"])
def test_errors_are_those_that_scripts_catch(start, folder):
    assert printed(MISSING, start, folder) == ["True", "True"]


@pytest.mark.parametrize(
    ("words", "said"), [([], "usage"), (["-h"], "usage"), (["none.py"], "no such script")]
)
def test_a_script_must_be_given(words, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compat", *words])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_light_import(folder):
    """The package, its search for files and OpenCV's names come without the compiler."""
    script = "import sys\nfind = cv2.data.find('frontalface')\ncv2.imread\nprint('numba' in sys.modules)"
    assert printed(script, "import changed", folder) == ["False"]
    assert compat.data.find("frontalface").exists()


@pytest.mark.parametrize("start", ["import changed", "run by ours"])
@pytest.mark.filterwarnings("ignore")
def test_the_ways_to_ask_whether_anything_was_found(start, folder):
    model = f"MODEL = {str(compat.data.find('frontalface'))!r}"
    assert printed(model + NO_FACE, start, folder) == ["equal", "same", "tuple", "array"]
