"""Files at addresses, on a server that speaks S3."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from storage_files import tar_of

from vjcascade.cli.main import run
from vjcascade.compat.data import find
from vjcascade.errors import ImageError, MissingLibraryError, SourceError, StorageError
from vjcascade.imaging import read_gray, write_image
from vjcascade.storage import addresses, local_file, open_place
from vjcascade.training.data.backgrounds import open_background_images
from vjcascade.types import Size

BUCKET = "pictures"


@pytest.fixture
def photos(tmp_path: Path, rng: np.random.Generator) -> Path:
    """Return a folder of five photos."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(5):
        write_image(folder / f"{i}.png", rng.integers(0, 256, (40, 50), np.uint8))
    return folder


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "WAITS", (0.0, 0.0, 0.0))


def test_photos_in_a_bucket_are_those_of_the_folder(bucket: Any, photos: Path) -> None:
    bucket.put(str(photos), f"{BUCKET}/photos", recursive=True)
    bucket.pipe(f"{BUCKET}/photos/readme.txt", b"nothing")
    there = open_background_images(f"s3://{BUCKET}/photos", Size(24, 24), memory_limit=0)
    here = open_background_images(photos, Size(24, 24))
    assert there.fingerprint == here.fingerprint
    assert there.names == here.names
    assert all(photo.pixels is None for photo in there.photos)
    np.testing.assert_array_equal(there[3], here[3])


def test_a_tar_in_a_bucket_is_read_in_parts(bucket: Any, photos: Path) -> None:
    bucket.pipe(
        f"{BUCKET}/shard-0.tar", tar_of({path.name: path.read_bytes() for path in sorted(photos.iterdir())})
    )
    place = open_place(f"s3://{BUCKET}/shard-{{0..0}}.tar")
    assert [place.label(one) for one in place.files] == ["shard-0.tar/" + f"{i}.png" for i in range(5)]
    np.testing.assert_array_equal(read_gray(place.files[2]), read_gray(photos / "2.png"))


def test_what_is_not_there_is_named(bucket: Any) -> None:
    with pytest.raises(SourceError, match="there is nothing at this URL"):
        open_place(f"s3://{BUCKET}/none")
    with pytest.raises(SourceError, match="does not exist"):
        open_place(f"s3://{BUCKET}/none.tar")


def test_a_photo_that_went_away_is_named(bucket: Any, photos: Path) -> None:
    bucket.put(str(photos), f"{BUCKET}/photos", recursive=True)
    files = open_place(f"s3://{BUCKET}/photos").files
    bucket.rm(f"{BUCKET}/photos/1.png")
    with pytest.raises(ImageError, match=r"1\.png no longer exists"):
        read_gray(files[1])


def test_wrong_credentials_end_at_once(bucket: Any, monkeypatch: pytest.MonkeyPatch, no_waits: None) -> None:
    n_asked = 0

    def refuse(*_: Any, **__: Any) -> None:
        nonlocal n_asked
        n_asked += 1
        raise PermissionError("The AWS Access Key Id you provided does not exist in our records.")

    monkeypatch.setattr(type(bucket), "find", refuse)
    with pytest.raises(StorageError, match=r"access is denied.*Access Key Id.*check the credentials"):
        open_place(f"s3://{BUCKET}/photos")
    assert n_asked == 1


def test_without_credentials_a_sentence_says_so(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    bucket.clear_instance_cache()
    with pytest.raises(StorageError, match=r"access is denied.*NoCredentials"):
        open_place(f"s3://{BUCKET}/photos")


@pytest.fixture
def through_proxy(bucket: Any, proxy: Any, photos: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    bucket.put(str(photos), f"{BUCKET}/photos", recursive=True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(type(bucket), "retries", 1)  # else s3fs waits longer and longer, before we are asked
    bucket.clear_instance_cache()
    return proxy


def test_a_connection_that_is_cut_is_tried_again(through_proxy: Any, photos: Path, no_waits: None) -> None:
    files = open_place(f"s3://{BUCKET}/photos").files
    through_proxy.n_to_cut = 1
    np.testing.assert_array_equal(read_gray(files[0]), read_gray(photos / "0.png"))
    assert through_proxy.n_cut == 1


def test_retries_end_with_a_sentence(through_proxy: Any, no_waits: None) -> None:
    files = open_place(f"s3://{BUCKET}/photos").files
    through_proxy.n_to_cut = 10**6
    with pytest.raises(StorageError, match=r"photos/0\.png: it cannot be fetched after 4 attempts"):
        read_gray(files[0])


def test_a_model_at_an_address_is_fetched(bucket: Any, tmp_path: Path) -> None:
    bucket.put(str(find("car")), f"{BUCKET}/model.xml")
    copy = local_file(Path(f"s3://{BUCKET}/model.xml"))
    assert copy.read_bytes() == find("car").read_bytes()
    write_image(tmp_path / "a.png", np.zeros((30, 30), np.uint8))
    assert run(["detect", f"s3://{BUCKET}/model.xml", str(tmp_path / "a.png")]) == 0


def test_the_missing_library_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original: Callable[..., Any] = builtins.__import__

    def without_fsspec(name: str, *rest: Any) -> Any:
        if name.startswith("fsspec"):
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_fsspec)
    with pytest.raises(MissingLibraryError, match=r"pip install 'fsspec\[http\]'"):
        open_place("s3://bucket/photos")
    assert run(["detect", "frontalface", "s3://bucket/photos"]) == 2
    assert "pip install 'fsspec[http]'" in capsys.readouterr().err


def test_the_library_of_a_place_is_named() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(MissingLibraryError, match="hdfs:// needs another library"):
        open_place("hdfs://host/photos")


def test_an_unknown_scheme_is_refused() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(Exception, match="nonsense:// URLs cannot be read"):
        open_place("nonsense://host/photos")


def test_an_archive_that_is_cut_off_at_an_address(bucket: Any, photos: Path) -> None:
    data = tar_of({"a.png": (photos / "0.png").read_bytes()})
    bucket.pipe(f"{BUCKET}/cut.tar", data[:1000])
    with pytest.raises(SourceError, match="damaged or cut off"):
        open_place(f"s3://{BUCKET}/cut.tar")
