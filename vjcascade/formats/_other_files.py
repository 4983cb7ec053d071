"""Files that people take for cascades: each named for what it is, with what to do."""

from __future__ import annotations

import re

_NOT_IN_STORAGE = {
    rb"\xff\xd8\xff": "a JPEG picture; give a cascade",
    rb"\x89PNG": "a PNG picture; give a cascade",
    rb"\x89HDF": "an HDF5 file, as Keras writes its networks; give a cascade",
    rb"%PDF": "a PDF document; give a cascade",
    rb"PK\x03\x04": "a ZIP archive; unpack it, and give the cascade inside",
    rb"\x1f\x8b": "compressed twice; unpack it once",
    rb"\xff\xfe|\xfe\xff": "a text in UTF-16, which OpenCV does not read either; save it as UTF-8",
    rb"version https://git-lfs": (
        "a Git LFS pointer instead of the file; get the file with `git lfs pull`, or download it from the "
        "repository's page"
    ),
    rb'\{\s*"format": "vjcascade-model"': (
        "a model that `vjcascade convert` exported as JSON, for other programs; give the cascade it was made from"
    ),
    rb'\{\s*"payload"\s*:|\{.*"(html_url|download_url|_links)"\s*:': (
        "a page of GitHub as JSON, not the file on it; download the file itself, by the page's button Raw"
    ),
    rb"(?i)(<[!?].*)?<(!doctype\s+html|html)\b": (
        "a web page (HTML), not a model; download the file itself (its raw form)"
    ),
}
"""How files of other programs begin."""

_IN_STORAGE = {
    rb"SVMDetector|opencv-object-detector-hog": "a HOG detector; cv2.HOGDescriptor loads it",
    rb"opencv[-_]ml[-_]svm|\bsvm_?[tT]ype\b": "a support vector machine; cv2.ml.SVM_load loads it",
    rb"opencv[-_]ml[-_]": "a model of OpenCV's module ml; cv2.ml loads it",
    rb"opencv_(lbphfaces|eigenfaces|fisherfaces)": "a face recogniser; cv2.face loads it",
    rb"<opencv_storage>\s*<params>": (
        "params.xml of opencv_traincascade, its settings; give cascade.xml, which it writes beside at the end"
    ),
    rb"<opencv_storage>\s*<stage\d+>": (
        "one stage of opencv_traincascade; give cascade.xml. If there is none, run the same command again with "
        "-numStages as many as there are stage files: it joins them"
    ),
}
"""What stands near the beginning of other files of OpenCV's FileStorage."""

_START = 4096  # bytes


def kind_of(data: bytes) -> str:
    """Return what a file that is no cascade is, and what to do; nothing if it is not known."""
    start = data[:_START].removeprefix(b"\xef\xbb\xbf").lstrip()
    for pattern, kind in _NOT_IN_STORAGE.items():
        if re.match(pattern, start, re.DOTALL):
            return kind
    return next((kind for pattern, kind in _IN_STORAGE.items() if re.search(pattern, start)), "")
