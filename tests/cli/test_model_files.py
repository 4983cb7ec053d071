from __future__ import annotations

import zipfile

import pytest

from vjcascade.compat import data


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("VJCASCADE_DATA", str(tmp_path / "mine"))


def test_models_are_listed_by_the_names_that_commands_take(run):
    ran = run("models")
    assert ran.code == 0
    listed = dict(line.split(maxsplit=1) for line in ran.out.splitlines())
    assert listed == {name: str(path) for name, path in data.available().items()}


def test_a_wheel_that_is_none_is_refused(run, tmp_path):
    (tmp_path / "opencv.whl").write_text("no")
    ran = run("models", "fetch", "--wheel", tmp_path / "opencv.whl")
    assert ran.code == 2
    assert "opencv.whl is not a wheel, or damaged" in ran.err
    with zipfile.ZipFile(tmp_path / "opencv.whl", "w"):
        pass
    assert "has no model files of OpenCV" in run("models", "fetch", "--wheel", tmp_path / "opencv.whl").err
    assert not (tmp_path / "mine").exists()


def test_a_wheel_is_for_fetching(run, tmp_path):
    ran = run("models", "--wheel", tmp_path)
    assert ran.code == 2
    assert "--wheel is for vjcascade models fetch" in ran.err


@pytest.mark.oracle
def test_fetched_models_go_by_their_names(run, tmp_path, monkeypatch, opencv_models):
    wheel = tmp_path / "opencv.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in opencv_models.glob("*.xml"):
            archive.write(path, f"cv2/data/{path.name}")
    ran = run("models", "fetch", "--wheel", wheel)
    assert ran.code == 0, ran.err
    assert "17 model files of OpenCV" in ran.out
    assert "Apache-2.0: license_plate_rus_16stages, russian_plate_number" in ran.out
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data, "_environments", lambda: iter(()))
    assert run("inspect", "haarcascade_eye").code == 0
    assert str(tmp_path / "mine") in run("models").out
