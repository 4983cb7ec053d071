"""Pictures in archives: those of the folder, and hostile ones refused."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from storage_files import tar_of

from vjcascade.cli.main import run
from vjcascade.errors import ImageError, SourceError
from vjcascade.evaluation import read_scenes
from vjcascade.imaging import image_size, read_gray, read_image, read_reduced, write_image
from vjcascade.storage import archives, is_place, open_place
from vjcascade.storage.places import expanded
from vjcascade.training import TrainingSettings, train
from vjcascade.training.data.backgrounds import open_background_images
from vjcascade.types import Size


def zip_of(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


@pytest.fixture
def pictures(tmp_path: Path, rng: np.random.Generator) -> dict[str, bytes]:
    """Return picture files by name: PNG, JPEG, TIFF and PGM."""
    files = {}
    for i, suffix in enumerate((".png", ".jpg", ".tif", ".pgm", ".png", ".bmp")):
        path = tmp_path / f"{i}{suffix}"
        write_image(path, rng.integers(0, 256, (30 + i, 50), np.uint8))
        files[f"sub/{path.name}"] = path.read_bytes()
        path.unlink()
    return files


MAKERS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "photos.tar": tar_of,
    "photos.zip": zip_of,
    "stored.zip": lambda files: zip_of(files, zipfile.ZIP_STORED),
}


@pytest.mark.parametrize("name", MAKERS)
def test_pictures_are_those_of_the_folder(name: str, pictures: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(MAKERS[name]({**pictures, ".hidden.png": b"x", "sub/0.cls": b"1"}))
    place = open_place(tmp_path / name)
    found = place.pictures(frozenset({".png", ".jpg", ".tif", ".pgm", ".bmp"}))
    assert [one.member for one in found] == list(pictures)
    for one, data in zip(found, pictures.values(), strict=True):
        (tmp_path / one.name).write_bytes(data)
        np.testing.assert_array_equal(read_image(one), read_image(tmp_path / one.name))
        np.testing.assert_array_equal(read_reduced(one, 20), read_reduced(tmp_path / one.name, 20))
        assert image_size(one) == image_size(tmp_path / one.name)
    assert str(found[0]) == f"{tmp_path / name}/sub/0.png"


def test_shards_follow_each_other(pictures: dict[str, bytes], tmp_path: Path) -> None:
    items = list(pictures.items())
    for i in range(3):
        (tmp_path / f"s-{i:02}.tar").write_bytes(tar_of(dict(items[2 * i : 2 * i + 2])))
    photos = open_background_images(tmp_path / "s-{00..02}.tar", Size(24, 24))
    assert photos.names == tuple(f"s-{i // 2:02}.tar/{name}" for i, name in enumerate(pictures))
    with pytest.raises(SourceError, match=r"s-03\.tar does not exist"):
        open_place(tmp_path / "s-{00..03}.tar")
    assert expanded("{1..2}{8..9}") == ["18", "19", "28", "29"]
    with pytest.raises(SourceError, match="is not a range"):
        expanded("a{3..1}.tar")


@pytest.mark.parametrize(
    "name", ["../out.png", "/etc/passwd.png", "a/../../b.png", "C:/x.png", "a\\..\\b.png"]
)
@pytest.mark.parametrize("maker", [tar_of, zip_of])
def test_names_that_lead_out_are_refused(
    name: str, maker: Callable[[dict[str, bytes]], bytes], tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(maker({name: b"x"}))
    with pytest.raises(SourceError, match="would be extracted outside"):
        open_place(tmp_path / "a.bin")


def test_links_are_left_out(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        link = tarfile.TarInfo("link.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    (tmp_path / "a.tar").write_bytes(packed.getvalue())
    assert open_place(tmp_path / "a.tar").files == ()


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(zip_of({"a.png": b"abc" * 1000}))
    place = data.index(b"PK\1\2")
    claims = data.copy()
    claims[place + 24 : place + 28] = (10**9).to_bytes(4, "little")
    (tmp_path / "claims.zip").write_bytes(claims)
    with pytest.raises(SourceError, match="claims more bytes than it can have"):
        open_place(tmp_path / "claims.zip")
    less = data.copy()
    less[place + 24 : place + 28] = (10).to_bytes(4, "little")
    (tmp_path / "less.zip").write_bytes(less)
    with pytest.raises(ImageError, match="does not match the archive's entry"):
        read_gray(open_place(tmp_path / "less.zip").files[0])
    double = bytearray(zip_of({"a.png": b"x", "b.png": b"y"}))
    second = double.index(b"PK\1\2", double.index(b"PK\1\2") + 1)
    double[second + 42 : second + 46] = bytes(4)
    (tmp_path / "double.zip").write_bytes(double)
    with pytest.raises(SourceError, match="overlap"):
        open_place(tmp_path / "double.zip")
    monkeypatch.setattr(archives, "MAX_MEMBER", 100)
    (tmp_path / "large.tar").write_bytes(tar_of({"a.png": bytes(101)}))
    with pytest.raises(SourceError, match="are read"):
        open_place(tmp_path / "large.tar")
    monkeypatch.setattr(archives, "MAX_MEMBERS", 1)
    (tmp_path / "many.tar").write_bytes(tar_of({"a.png": b"1", "b.png": b"1"}))
    with pytest.raises(SourceError, match="more than 1 members"):
        open_place(tmp_path / "many.tar")


def test_damaged_and_compressed_archives_are_named(tmp_path: Path, pictures: dict[str, bytes]) -> None:
    whole = tar_of(pictures)
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(whole))
    with pytest.raises(SourceError, match=r"compressed with gzip.*make a plain tar or a zip"):
        open_place(tmp_path / "a.tar.gz")
    (tmp_path / "cut.tar").write_bytes(whole[:3000])
    with pytest.raises(SourceError, match="damaged or cut off"):
        open_place(tmp_path / "cut.tar")
    (tmp_path / "cut.zip").write_bytes(zip_of(pictures)[:-30])
    with pytest.raises(SourceError, match="damaged or cut off"):
        open_place(tmp_path / "cut.zip")
    spoiled = bytearray(zip_of(pictures, zipfile.ZIP_STORED))
    spoiled[60] ^= 255
    (tmp_path / "spoiled.zip").write_bytes(spoiled)
    with pytest.raises(ImageError, match="does not match the archive's entry"):
        read_gray(open_place(tmp_path / "spoiled.zip").files[0])
    assert not is_place(tmp_path / "none.tar")


def test_training_from_archives_gives_the_same_model(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    crops, photos = tmp_path / "crops", tmp_path / "photos"
    crops.mkdir()
    photos.mkdir()
    mean = np.where(np.arange(12) < 6, 160, 90)
    for i in range(40):
        write_image(crops / f"{i:02}.png", rng.normal(mean, 40, (12, 12)).clip(0, 255).astype(np.uint8))
    for i in range(4):
        write_image(photos / f"{i}.png", rng.integers(0, 256, (60, 80), np.uint8))
    for folder, maker in ((crops, tar_of), (photos, zip_of)):
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        (tmp_path / f"{folder.name}.bin").write_bytes(maker(files))
    settings = TrainingSettings(max_stages=2, max_weak=4, n_negatives=100, copies=0)
    train(crops, photos, tmp_path / "here", settings, window=(12, 12))
    monkeypatch.setattr("vjcascade.training.run.PHOTOS_SHARE", 0)  # photos are read again in every sweep
    train(tmp_path / "crops.bin", tmp_path / "photos.bin", tmp_path / "there", settings, window=(12, 12))
    here, there = (tmp_path / name / "cascade.xml" for name in ("here", "there"))
    assert here.read_bytes() == there.read_bytes()


def test_annotations_in_an_archive_come_with_their_pictures(
    tmp_path: Path, pictures: dict[str, bytes]
) -> None:
    table = "file,x,y,w,h\n" + "".join(f"{name},1,2,9,9\n" for name in pictures)
    (tmp_path / "scenes.tar").write_bytes(
        tar_of({**pictures, "boxes.csv": table.encode(), "README.txt": b"hello"})
    )
    scenes = read_scenes(tmp_path / "scenes.tar")
    assert len(scenes) == len(pictures)
    assert scenes.source == str(tmp_path / "scenes.tar")
    (tmp_path / "plain.tar").write_bytes(tar_of(pictures))
    with pytest.raises(SourceError, match="has no boxes"):
        read_scenes(tmp_path / "plain.tar")


def test_detection_in_shards_is_that_in_files(
    pictures: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data in pictures.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    items = list(pictures.items())
    for i in range(2):
        (tmp_path / f"s{i}.tar").write_bytes(tar_of(dict(items[3 * i : 3 * i + 3])))
    assert (
        run(["detect", "frontalface", *[str(tmp_path / name) for name in pictures], "--format", "jsonl"]) == 0
    )
    files = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert run(["detect", "frontalface", str(tmp_path / "s{0..1}.tar"), "--format", "jsonl"]) == 0
    shards = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["file"] for one in shards] == [
        f"{tmp_path}/s{i // 3}.tar/{name}" for i, name in enumerate(pictures)
    ]
    for one in (*files, *shards):
        del one["file"]
    assert files == shards
    assert (
        run(
            ["detect", "frontalface", str(tmp_path / "s0.tar"), "--format", "yolo", "-o", str(tmp_path / "y")]
        )
        == 2
    )
    assert "is in an archive" in capsys.readouterr().err


def test_a_detection_that_is_killed_goes_on(tmp_path: Path, pictures: dict[str, bytes]) -> None:
    n = 400
    data = pictures["sub/0.png"]
    (tmp_path / "many.tar").write_bytes(tar_of({f"{i:03}.png": data for i in range(n)}))
    found = tmp_path / "found.jsonl"
    command = [sys.executable, "-m", "vjcascade", "detect", "frontalface", str(tmp_path / "many.tar")]
    command += ["--format", "jsonl", "--output", str(found), "--resume"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while not (kept := list(tmp_path.glob("*.partial"))) or kept[0].stat().st_size < 2000:
            assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
    (kept,) = tmp_path.glob("*.partial")
    with kept.open("ab") as file:  # as if it had been cut in the middle of a record
        file.write(b'{"file": "')
    assert not found.exists()
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
    assert "continuing after" in done.stderr
    names = [json.loads(line)["file"] for line in found.read_text().splitlines()]
    assert names == [f"{tmp_path}/many.tar/{i:03}.png" for i in range(n)]
    assert not list(tmp_path.glob("*.partial"))


def test_what_cannot_be_resumed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_image(tmp_path / "a.png", np.zeros((30, 30), np.uint8))
    assert run(["detect", "frontalface", str(tmp_path / "a.png"), "--resume"]) == 2
    assert "--resume needs --format jsonl and --output" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert not is_place(tmp_path / "pipe")
