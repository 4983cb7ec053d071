"""Which word of a command line is the model, and which model it is where none is named."""

import gzip
from pathlib import Path

import builders
import pytest

from vjcascade.cli.models import shipped_model, split_model
from vjcascade.compat.data import find
from vjcascade.imaging import write_image


def paths(*words):
    return [Path(word) for word in words]


@pytest.fixture
def folder(tmp_path, monkeypatch, accept_all, rng):
    """Return a folder with models and pictures whose names tell nothing."""
    monkeypatch.chdir(tmp_path)
    Path("model").write_bytes(accept_all.read_bytes())
    Path("packed").write_bytes(gzip.compress(accept_all.read_bytes()))
    Path("yaml").write_text("%YAML:1.0\n")
    Path("json").write_text('\n {"cascade": 1}')
    write_image("a.png", builders.smooth_noise(rng, 24, 24))
    Path("picture").write_bytes(Path("a.png").read_bytes())
    Path("empty").touch()
    Path("photos.xmls").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "word",
    ["any.xml", "ANY.XML", "any.xml.gz", "any.yml", "any.json", "model", "packed", "yaml", "json", "nowhere"],
)
def test_models(folder, word):
    assert split_model(paths(word, "a.png")) == (Path(word), paths("a.png"))


@pytest.mark.parametrize(
    "word", ["a.png", "nowhere.jpg", "nowhere.mp4", "picture", "empty", "photos.xmls", "."]
)
def test_what_is_to_be_searched(folder, word):
    assert split_model(paths(word, "b.xml")) == (None, paths(word, "b.xml"))


def test_no_words():
    assert split_model([]) == (None, [])


def test_without_a_model_faces_are_looked_for(run):
    import skimage

    picture = Path(skimage.__file__).parent / "data" / "astronaut.png"
    ran = run("detect", picture)
    assert ran.code == 0
    assert ": 1 detection: " in ran.out
    assert ran.err.splitlines()[0] == f"no model given: detecting faces with {shipped_model()}"
    assert run("detect", shipped_model(), picture).out == ran.out


def test_a_model_alone_is_not_enough(run, accept_all):
    ran = run("detect", accept_all)
    assert ran.code == 2
    assert f"give pictures, folders or videos to search after the model, {accept_all}, or" in ran.err


def test_one_word_that_is_nothing_is_named(run, accept_all):
    ran = run("detect", accept_all.with_name("accept-al.xml"))
    assert ran.code == 2
    assert "accept-al.xml: there is no such file or folder; did you mean 'accept-all.xml'?" in ran.err


def test_the_folder_of_a_run_stands_for_its_model(run, accept_all, rng):
    """Its own pictures are not what is to be searched."""
    folder = accept_all.parent / "signs"
    folder.mkdir()
    accept_all.rename(folder / "cascade.xml")
    write_image(folder / "mean.png", builders.smooth_noise(rng, 40, 40))
    write_image(folder.parent / "a.png", builders.smooth_noise(rng, 40, 40))
    ran = run("detect", folder, folder.parent / "a.png", "--format", "csv")
    assert ran.code == 0
    assert "searched: 1" in ran.err
    assert "mean.png" not in ran.out


@pytest.mark.parametrize("command", ["detect", "inspect", "convert"])
def test_a_model_that_is_on_this_machine_goes_by_its_name(run, tmp_path, monkeypatch, rng, command):
    monkeypatch.chdir(tmp_path)
    write_image("a.png", builders.smooth_noise(rng, 30, 30))
    after = {"detect": ["a.png"], "inspect": [], "convert": ["copy.xml"]}[command]
    name = "frontalface" if command == "detect" else "car"  # which is a quarter as large
    by_name = run(command, name, *after)
    assert by_name.code == 0
    assert run(command, find(name), *after).out == by_name.out
    unknown = run(command, "frontalfaces", *after)
    assert unknown.code == 2
    assert "no model file 'frontalfaces' on this machine" in unknown.err
