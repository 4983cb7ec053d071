"""Faces with altered copies, and turned photos, that the face model is trained on."""

from __future__ import annotations

import builders
import face_pictures
import numpy as np

from vjcascade.imaging import read_gray, write_image
from vjcascade.training.data.positives import load_positives
from vjcascade.types import Size


def test_every_face_comes_with_a_copy_and_stays_one_group(tmp_path, rng):
    names = ["caltech10k/train/a.png", "lfw/train/b.png", *(f"opencv24/train/g0_{n}.png" for n in range(10))]
    names += [f"lfw/train/c{n}.png" for n in range(4)]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write_image(tmp_path / name, builders.smooth_noise(rng, 32, 32))
    listing = face_pictures.write_faces(tmp_path, tmp_path / "faces", Size(20, 20), 1)
    positives = load_positives(listing, Size(20, 20))
    assert len(positives.windows) == 6 * 2 + len(face_pictures.VARIANTS) + 1
    assert sorted(np.bincount(positives.groups)) == [2] * 6 + [len(face_pictures.VARIANTS) + 1]


def test_copies_depend_on_the_face_alone_and_still_show_it(rng):
    face = builders.smooth_noise(rng, 32, 32)
    copy = face_pictures.altered(face, Size(20, 20))
    assert copy.shape == (20, 20)
    assert np.array_equal(copy, face_pictures.altered(face.copy(), Size(20, 20)))
    assert not np.array_equal(copy, face_pictures.altered(face[::-1].copy(), Size(20, 20)))


def test_photos_are_turned(tmp_path, rng):
    photo = np.zeros((30, 40), np.uint8)
    photo[2:9] = 200
    for name in ("a", "b"):
        (tmp_path / "photos").mkdir(exist_ok=True)
        write_image(tmp_path / "photos" / f"{name}.jpg", photo)
    face_pictures.write_turned_photos(tmp_path / "photos", tmp_path / "turned", 1)
    for name in ("a", "b"):
        turned = read_gray(tmp_path / "turned" / f"{name}.png")
        assert turned.shape == (30, 40)
        assert turned[21:28].mean() > turned[:20].mean() + 50
