"""``vjcascade train`` as its users run it, and the cases of junk, lists, small and exhausted negatives."""

import re
import time
from dataclasses import replace
from itertools import pairwise

import builders
import doubles
import numpy as np
import pytest
from easy_pictures import contents, easy_positive, save, soft_noise
from PIL import Image

from vjcascade import Cascade
from vjcascade.cli.process import Terminated
from vjcascade.cli.train import Settings
from vjcascade.errors import SettingsError
from vjcascade.training import TrainingSettings, preset_settings
from vjcascade.training.events import Ended, RunBegun, StageDone

BRIEF = ("--window", "24x24", "--stages", "1", "--negatives", "60", "--no-baseline")


@pytest.fixture
def settings_seen(monkeypatch):
    """Return a list that gets the settings of every run; nothing is trained."""
    import vjcascade.training

    seen = []

    def note(positives, negatives, output, settings, *, listener, **options):
        seen.append(settings)
        listener(Ended("nothing to do"))
        return builders.accept_all().with_metadata({"stages": [doubles.stage_record(1).as_dict()]})

    monkeypatch.setattr(vjcascade.training, "train", note)
    return seen


def train(run, folder, *options, negatives="neg"):
    return run("train", folder / "pos", folder / negatives, "--output", folder / "out", *options)


def test_every_setting_is_an_option(run):
    assert set(Settings.__annotations__) == set(TrainingSettings.__dataclass_fields__)
    page = run("train", "--help").out
    for name in TrainingSettings.__dataclass_fields__:
        option = {"max_stages": "stages", "n_negatives": "negatives"}.get(name, name.replace("_", "-"))
        assert f"--{option}" in page


def test_the_log_explains_itself(run, easy):
    ran = train(run, easy, "--window", "24x24", "--stages", "2", "--negatives", "40", "--hit-rate", "0.9")
    assert (ran.code, ran.err) == (0, "")
    assert "positives: found 60 image files" in ran.out
    assert "negatives: found 20 image files" in ran.out
    lines = ran.out.splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith("stage weak"))
    assert re.match(r" +1 +\d+ +-?[\d.]+ +[\d.]+% +[\d.]+%\*", lines[header + 1])
    assert sum(line.startswith("stage weak") for line in lines) == 1
    assert max(map(len, lines[header - 10 : header + 2])) <= 120
    assert "held-out" in lines[-5]
    assert f"vjcascade detect {easy / 'out' / 'cascade.xml'} PICTURE" in lines[-4]
    assert f"vjcascade report {easy / 'out'}" in lines[-3]
    assert lines[-1].startswith("training ended ")
    assert Cascade.load(easy / "out" / "cascade.xml").metadata["settings"]["hit_rate"] == 0.9


def test_what_is_not_given_is_the_presets(run, easy):
    assert train(run, easy, *BRIEF, "--preset", "quick", "--seed", "3").code == 0
    settings = Cascade.load(easy / "out" / "cascade.xml").metadata["settings"]
    assert (settings["max_weak"], settings["max_stages"], settings["seed"]) == (40, 1, 3)
    assert settings["baseline"] is False


@pytest.mark.parametrize("costs", ["4", "4:1", "gamma=0.8", "matrix=0,4;1,0", "[[1, 5], [2, 1]]"])
def test_costs_in_all_spellings(run, easy, settings_seen, costs):
    assert train(run, easy, "--costs", costs).code == 0
    assert settings_seen == [TrainingSettings(costs=4)]


def test_options_go_before_the_settings_file(run, easy, settings_seen):
    (easy / "signs.toml").write_text("preset = 'quick'\nmax-stages = 3\nseed = 5\ncosts.gamma = 0.75\n")
    named = ("--settings", easy / "signs.toml")
    assert train(run, easy, *named).code == 0
    assert train(run, easy, *named, "--stages", "2", "--costs", "4", "--no-baseline").code == 0
    assert train(run, easy, *named, "--preset", "thorough").code == 0
    told = {"max_stages": 3, "seed": 5, "costs": 3}
    assert settings_seen == [
        preset_settings("quick", **told),
        preset_settings("quick", **{**told, "max_stages": 2, "costs": 4, "baseline": False}),
        preset_settings("thorough", **told),
    ]


def test_a_broken_settings_file_is_told_with_its_line(run, easy):
    (easy / "signs.toml").write_text("seed = 5\nhit-rate = high\n")
    ran = train(run, easy, "--settings", easy / "signs.toml")
    assert ran.code == 2
    assert re.search(r"signs\.toml is not a TOML file: .*line 2", ran.err)
    assert not (easy / "out").exists()


def test_junk_in_the_folder(run, easy, rng):
    pos = easy / "pos"
    (pos / "Thumbs.db").write_bytes(rng.bytes(500))
    (pos / ".DS_Store").write_bytes(rng.bytes(500))
    (pos / "notes.txt").write_text("good ones")
    (pos / "empty.jpg").touch()
    (pos / "fake.png").write_text("text inside")
    alpha = np.where(np.arange(24) < 12, 255, 0) + np.zeros((24, 1))
    pixels = np.dstack([np.full((24, 24), 200), alpha]).astype(np.uint8)
    Image.fromarray(pixels).save(pos / "cut.PNG", "PNG")
    ran = train(run, easy, *BRIEF)
    assert ran.code == 0
    assert "found 63 image files" in ran.out
    assert "used 61, skipped 2" in ran.out
    assert [line.split(":")[0] for line in ran.out.splitlines() if line.startswith("  skipped")] == [
        "  skipped empty.jpg",
        "  skipped fake.png",
    ]
    assert not any(name in ran.out + ran.err for name in ("Thumbs", "DS_Store", "notes"))

    (easy / "out" / "cascade.xml").unlink()
    strict = train(run, easy, *BRIEF, "--strict")
    assert strict.code == 2
    assert "empty.jpg" in strict.err
    assert "fake.png" in strict.err
    assert not (easy / "out" / "cascade.xml").exists()


def test_windows_list_file(run, easy):
    for name, number in zip("abcd", range(4), strict=True):
        (easy / "neg" / f"{number:03}.png").rename(easy / "neg" / f"{name}.png")
    lines = ["neg/a.png", "", "neg/b.png   ", "# comment", "neg/c.png", "neg/missing.png", "neg/d.png"]
    (easy / "bg.txt").write_bytes("\r\n".join(lines).encode())
    ran = train(run, easy, *BRIEF, negatives="bg.txt")
    assert ran.code == 0
    assert "negatives: found 5 image files" in ran.out
    assert "used 4, skipped 1" in ran.out
    assert re.search(r"bg\.txt:6: .*missing\.png", ran.out)


def test_negatives_too_small(run, easy, rng):
    save(easy / "small", [soft_noise(rng, 16) for _ in range(20)])
    start = time.monotonic()
    ran = train(run, easy, *BRIEF, negatives="small")
    assert time.monotonic() - start < 5
    assert ran.code == 2
    assert "20 of 20 negatives are smaller than the 24x24 window" in ran.err
    assert "000.png" in ran.err
    assert not (easy / "out").exists()

    Image.fromarray(soft_noise(rng, 64)).save(easy / "small" / "big.png")
    ran = train(run, easy, *BRIEF, negatives="small")
    assert ran.code == 0
    assert "used 1, skipped 20" in ran.out


def test_negatives_run_out(run, easy, rng):
    flat = [np.clip(128 + rng.normal(0, 12, (120, 120)), 0, 255).astype(np.uint8) for _ in range(20)]
    save(easy / "easy-neg", flat)
    start = time.monotonic()
    ran = train(run, easy, "--window", "24x24", "--stages", "10", negatives="easy-neg")
    assert time.monotonic() - start < 60
    assert ran.code == 0
    assert Cascade.load(easy / "out" / "cascade.xml").n_stages < 10
    end = ran.out.splitlines()[-1]
    assert end.startswith("training ended early")
    assert "no negative window can be found" in end
    assert re.search(r"[\d,]+ windows were scanned", end)
    assert "one weak classifier separates all windows" in ran.out


def test_positives_are_used_up(run, tmp_path):
    rng = np.random.default_rng(8)
    save(tmp_path / "pos", [easy_positive(rng, noise=90) for _ in range(20)])
    hard = [np.hstack([easy_positive(rng, noise=90) for _ in range(4)]) for _ in range(40)]
    save(tmp_path / "neg", [np.vstack([row] * 4) for row in hard])
    options = (
        "--window",
        "24x24",
        "--hit-rate",
        "0.9",
        "--stages",
        "10",
        "--negatives",
        "60",
        "--copies",
        "0",
        "--no-baseline",
    )
    ran = train(run, tmp_path, *options, "--max-weak", "4")
    assert ran.code == 0
    assert "20 positives are few" in ran.out
    kept = [
        stage["n_positives"] for stage in Cascade.load(tmp_path / "out" / "cascade.xml").metadata["stages"]
    ]
    assert kept[0] == 20
    for before, after in pairwise(kept):
        assert before - int(0.1 * before) <= after <= before
    assert 3 <= len(kept) < 10  # 40 photos hold no more that is hard to tell from the object
    end = ran.out.splitlines()[-1]
    assert end.startswith(f"training ended early with {len(kept)} stages: only ")
    assert "negative window" in end


@pytest.mark.parametrize(
    ("options", "odd"),
    [
        (("\u2013window", "24x24"), "\u2013window"),
        (("maxangle", "0.5"), "maxangle"),
        (("--stages", "1", "--window"), "--window"),
        (("--hit-rte", "0.9"), "--hit-rte"),
        (("--window", "24y24"), "24y24"),
        (("--preset", "quik"), "quik"),
        (("--hit-rate", "1.5"), "1.5"),
        (("--negatives", "10"), "--negatives 10 is not a whole number, at least 20"),
        (("--hit-rate", "3"), "--hit-rate 3.0 is not in (0, 1]"),
        (("--window", "2x2"), "window 2x2 is not usable"),
        (("--window", "300x300"), "window 300x300 is not usable"),
        (("--window", "9" * 5000), "is not WIDTHxHEIGHT"),
        (("--threads", "0"), "0"),
        (("--costs", "0"), "--costs: cost ratio 0.0 is not a finite number above zero"),
        (("--costs", "4:x"), "costs '4:x' cannot be read; write, for example, 4 "),
        (("--costs", "matrix=0,1;0,1"), "is not reasonable"),
        (("--settings", "none.toml"), "none.toml cannot be read"),
        (("--memory", "1 gallon"), "memory '1 gallon' is not a size; write it like 800MB or 1.5GiB"),
        (("--memory", "1MB"), "memory 1MB is too small: at least 64MiB are needed"),
        (("--continue", "none.xml"), "none.xml"),
    ],
)
def test_wrong_command_lines_train_nothing(run, easy, options, odd):
    before = contents(easy)
    ran = train(run, easy, *options)
    assert ran.code == 2
    assert ran.out == ""
    assert odd in ran.err
    assert contents(easy) == before


@pytest.mark.parametrize(
    ("options", "odd"),
    [
        (
            ("--memory", "64MiB"),
            "even with all features on disk; program and pictures take",
        ),
        (("--more-negatives", "none"), "none does not exist"),
    ],
)
def test_what_shows_only_when_pictures_are_read_trains_nothing(run, easy, options, odd):
    before = contents(easy)
    ran = train(run, easy, *options)
    assert ran.code == 2
    assert odd in ran.err
    assert contents(easy) == before


def test_several_folders_of_negatives(run, easy, monkeypatch):
    import vjcascade.training

    def note(*sources, more_negatives, continue_from, memory, **options):
        raise SettingsError(f"{more_negatives} {continue_from} {memory}")

    monkeypatch.setattr(vjcascade.training, "train", note)
    ran = train(
        run,
        easy,
        "--more-negatives",
        "a",
        "b",
        "--continue",
        "m.xml",
        "--more-negatives",
        "c",
        "--memory",
        "1GiB",
    )
    assert [name in ran.err for name in ("'a'", "'b'", "'c'", "m.xml", str(2**30))] == [True] * 5


def test_a_long_dash_is_explained(run):
    ran = run("train", "\u2013window", "24x24", "pos", "neg")
    assert "begins with a long dash: write --window with two hyphens" in ran.err


def test_resuming_with_other_settings(run, easy):
    brief = ("--negatives", "60", "--no-baseline")
    assert train(run, easy, *brief, "--window", "24x24", "--stages", "2").code == 0
    model = (easy / "out" / "cascade.xml").read_bytes()

    other = train(run, easy, *brief, "--window", "20x20", "--stages", "2", "--resume")
    assert other.code == 2
    assert "24x24" in other.err
    assert "20x20" in other.err
    again = train(run, easy, *brief, "--window", "24x24", "--stages", "2")
    assert again.code == 2
    assert "already holds a model" in again.err
    assert (easy / "out" / "cascade.xml").read_bytes() == model

    longer = train(run, easy, *brief, "--window", "24x24", "--stages", "3", "--resume")
    assert longer.code == 0
    assert "cascade.xml, 2 stages so far" in longer.out


def test_names_that_begin_with_a_dash(run, easy, monkeypatch):
    (easy / "pos").rename(easy / "-pos")
    monkeypatch.chdir(easy)
    ran = run("train", "--output", "out", *BRIEF, "--", "-pos", "neg")
    assert ran.code == 0
    assert Cascade.load("out/cascade.xml").n_stages == 1


@pytest.mark.parametrize(("interrupt", "code"), [(KeyboardInterrupt, 130), (Terminated, 143)])
@pytest.mark.parametrize(
    ("has_model", "n_stages", "sentence"),
    [
        (False, 0, "no stage was finished\n"),
        (True, 0, "cascade.xml is unchanged"),
        (True, 1, "continue with --resume"),
    ],
)
def test_interrupted(run, easy, monkeypatch, has_model, n_stages, sentence, interrupt, code):  # noqa: PLR0917
    import vjcascade.training

    def interrupted(positives, negatives, output, *args, listener, **options):
        if has_model:
            output.mkdir()
            builders.accept_all().save(output / "cascade.xml")
        for stage in range(n_stages):
            listener(StageDone(doubles.stage_record(stage + 1), n_stages=5, seconds=1.0))
        raise interrupt

    monkeypatch.setattr(vjcascade.training, "train", interrupted)
    ran = train(run, easy, "--overwrite")
    assert ran.code == code
    assert "stopped" in ran.err
    assert sentence in ran.err


@pytest.mark.parametrize(
    ("options", "sources", "sentence"),
    [
        (
            ["--resume"],
            {},
            "no further stage was finished; out/cascade.xml is unchanged: continue with --r",
        ),
        (
            ["--overwrite"],
            {"continue_from": "m.xml"},
            "out/cascade.xml is the model to continue: continue with --r",
        ),
        (["--overwrite"], {}, "no stage was finished; out/cascade.xml is unchanged\n"),
    ],
)
def test_interrupted_before_a_further_stage(run, easy, monkeypatch, options, sources, sentence):
    import vjcascade.training

    def interrupted(positives, negatives, output, *args, listener, **options):
        listener(RunBegun("24x24", TrainingSettings().as_dict(), {}, sources=sources))
        raise KeyboardInterrupt

    monkeypatch.setattr(vjcascade.training, "train", interrupted)
    monkeypatch.chdir(easy)
    (easy / "out").mkdir()
    builders.accept_all().save(easy / "out" / "cascade.xml")
    assert sentence in run("train", "pos", "neg", "--output", "out", *options).err


def test_a_model_that_was_edited_is_not_resumed(run, easy):
    brief = ("--negatives", "60", "--no-baseline", "--window", "24x24")
    assert train(run, easy, *brief, "--stages", "1").code == 0
    path = easy / "out" / "cascade.xml"
    cascade = Cascade.load(path)
    replace(cascade, stage_thresholds=cascade.stage_thresholds - np.float32(1)).save(path)
    edited = path.read_bytes()
    ran = train(run, easy, *brief, "--stages", "2", "--resume")
    assert ran.code == 2
    assert ran.err == (
        f"vjcascade: error: {path} cannot be resumed: it is not the model that this run saved, its stages were "
        "changed since. Restore the one that was saved, or overwrite it; to train on from this one, give it as "
        "--continue, with another output folder\n"
    )
    assert path.read_bytes() == edited
    moved = ("--stages", "2", "--continue", path, "--output", easy / "other")
    assert run("train", easy / "pos", easy / "neg", *brief, *moved).code == 0


def test_a_label_picks_objects_out_of_annotations(run, easy):
    lines = [f"pos/{i:03}.png,0,0,24,24,{'car' if i < 30 else 'bus'}" for i in range(60)]
    (easy / "boxes.csv").write_text("\n".join(["file,x,y,w,h,label", *lines]))
    words = ("train", easy / "boxes.csv", easy / "neg", "--output", easy / "out", *BRIEF)
    ran = run(*words)
    assert ran.code == 2
    assert "has objects of 2 kinds (bus, car); choose one with --label" in ran.err
    ran = run(*words, "--label", "car")
    assert ran.code == 0
    assert "positives: found 30 boxes in " in ran.out
    assert "note: boxes.csv was read as CSV" in ran.out


def test_the_samples_of_a_vec_are_trained_from(run, easy, rng):
    from vjcascade.formats.annotations.vec_files import write_vec

    write_vec(easy / "pos.vec", np.array([easy_positive(rng) for _ in range(30)]))
    words = ("train", easy / "pos.vec", easy / "neg", "--output", easy / "out", *BRIEF[2:])
    ran = run(*words)
    assert ran.code == 0
    assert "note: window 24x24, as the samples look" in ran.out
    assert Cascade.load(easy / "out" / "cascade.xml").window == (24, 24)
    ran = run(*words, "--window", "16x36", "--overwrite")
    assert ran.code == 0
    assert "note: pos.vec: samples are read as 16x36, as requested, but look like 24x24" in ran.out
    assert Cascade.load(easy / "out" / "cascade.xml").window == (16, 36)


def test_scenes_to_validate_with(run, easy, rng):
    """The log, `inspect`, `detect` and the report's command all know of them."""
    scene = (soft_noise(rng) // 2 + 64).astype(np.uint8)
    scene[30:54, 40:64] = easy_positive(rng)
    save(easy / "scenes", [scene])
    (easy / "scenes.csv").write_text("file,x,y,w,h\nscenes/000.png,40,30,24,24\n")
    options = ("--window", "24x24", "--validate", easy / "scenes.csv", "--stages", "2", "--negatives", "40")
    ran = train(run, easy, *options, "--no-baseline", "--copies", "0", "--max-weak", "3")
    assert (ran.code, ran.err) == (0, "")
    assert "(CSV), 1 picture with 1 object" in ran.out
    assert "best F1" in next(line for line in ran.out.splitlines() if line.startswith("stage weak"))
    assert "on 1 scene with 1 object, it reaches" in ran.out
    assert "On the scenes, the model is best with" in ran.out.splitlines()[-1]
    model = easy / "out" / "cascade.xml"
    metadata = Cascade.load(model).metadata
    assert metadata["data"]["scenes"] == 1
    told = run("inspect", model).out
    assert "best F1" in told
    assert "training record:" not in told
    assert "tuned settings of the model" in run("detect", model, easy / "scenes").err
    assert run("report", easy / "out").code == 0
    assert f"--validate {easy / 'scenes.csv'}" in (easy / "out" / "report.html").read_text()


def test_scenes_that_cannot_be_read_train_nothing(run, easy):
    (easy / "scenes.txt").write_text("missing.png 1 0 0 9 9\n")
    ran = train(run, easy, "--validate", easy / "scenes.txt")
    assert ran.code == 2
    assert "scenes.txt:1" in ran.err
    assert not (easy / "out").exists()
