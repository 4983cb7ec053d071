"""``vjcascade inspect``, and model files that are none."""

import json
import re

import builders
import numpy as np
import pytest
from easy_pictures import soft_noise

from vjcascade.cascade import Cascade
from vjcascade.compat import data
from vjcascade.imaging import write_image
from vjcascade.types import Size


def test_a_model_without_a_record(run, accept_all):
    ran = run("inspect", accept_all)
    assert ran.code == 0
    assert "window: 24x24" in ran.out
    assert "weak classifiers: 1 stump; in each stage: 1" in ran.out
    assert "training record: none" in ran.out


def test_trees(run, rng, tmp_path):
    builders.random_cascade(rng, tree_share=1, tilted_share=0.5).save(tmp_path / "trees.xml")
    assert "trees with" in run("inspect", tmp_path / "trees.xml").out


def test_what_was_changed_after_training(run, tmp_path):
    changed = builders.accept_all(n_stages=2).first_stages(1).with_shifted_thresholds(-0.5)
    changed.save(tmp_path / "changed.xml")
    ran = run("inspect", tmp_path / "changed.xml")
    assert "changed after training: cut to the first 1 of 2 stages\n" in ran.out
    assert "changed after training: thresholds of the last 1 stage shifted by -0.5\n" in ran.out
    assert "training record: none" in ran.out
    changed.followed_by(changed).save(tmp_path / "both.xml")
    both = run("inspect", tmp_path / "both.xml")
    assert "changed after training: followed by the last 1 stage of another model\n" in both.out
    for changes in ("all", [3, {"first_stages": "1", "of": 2}, {}]):
        changed.with_metadata({"changes": changes}).save(tmp_path / "damaged.xml")
        ran = run("inspect", tmp_path / "damaged.xml")
        assert (ran.code, "changed after" in ran.out) == (0, False)


def test_crops_that_thresholds_are_not_tuned_on(run, tmp_path):
    """Some of the shipped car model's; of a model that goes on, the crops of the stages before are others."""
    out = run("inspect", "car").out
    assert (
        "\nheld-out crops that look unlike the others; thresholds are not tuned on them: from stage 12 on pos-"
        in out
    )
    assert "not tuned on" not in run("inspect", "plate").out
    car = Cascade.load(data.find("car"))
    for n_before, is_said in ((11, True), (15, False)):
        continued = {"model": "old.xml", "stages": n_before}
        car.with_metadata(car.metadata | {"continued": continued}).save(tmp_path / "longer.xml")
        assert ("not tuned on" in run("inspect", tmp_path / "longer.xml").out) == is_said


@pytest.mark.parametrize(
    "change",
    [
        {"stages": [{}]},
        {"stages": "two"},
        {"stages": None},
        {"stages": []},
        {"data": "faces"},
        {"settings": 3},
        {"continued": "faces"},
        {"continued": {"model": 3, "stages": "two"}},
        {"overall_false_alarm_rate": 0},
        {"overall_hit_rate": "high"},
        {"stage": [1]},
        {"tuned": {"threshold": 0}},
        {"natural": {"hit_rate": {}, "false_alarm_rate": 0}},
    ],
)
def test_records_of_other_programs_are_shown_as_they_are(run, tmp_path, change):
    rates = {"threshold": 0.0, "hit_rate": 1.0, "false_alarm_rate": 0.5}
    stage = {"stage": 1, "n_weak": 1, "hit_rate_on": "training", "false_alarm_rate_on": "training"}
    stage |= {"tuned": rates, "natural": None, "baseline": None, "windows_searched": 9}
    stage |= {"overall_hit_rate": 1.0, "overall_held_out_hit_rate": None, "overall_false_alarm_rate": 0.5}
    stage |= {key: value for key, value in change.items() if key in stage}
    record = {"data": {}, "settings": {}, "stages": [stage]} | ({} if set(change) & set(stage) else change)
    builders.accept_all(n_stages=1).with_metadata(record).save(tmp_path / "foreign.xml")
    ran = run("inspect", tmp_path / "foreign.xml")
    assert (ran.code, ran.err) == (0, "")
    assert "window: 24x24" in ran.out
    assert json.loads(ran.out.split("training record:")[1]) == record


def test_a_trained_model(run, easy):
    options = ("--window", "24x24", "--stages", "1", "--negatives", "60")
    assert run("train", easy / "pos", easy / "neg", "-o", easy / "out", *options).code == 0
    ran = run("inspect", easy / "out" / "cascade.xml")
    assert "  positives: 60" in ran.out
    assert "  booster: cost-generalized" in ran.out
    assert "stage weak" in ran.out
    assert "about one in" in ran.out


HOSTILE = "\x1b]0;title\x07\x9b2J"
SHOWN = r"\x1b]0;title\x07\x9b2J"


def test_control_characters_do_not_reach_the_terminal(run, tmp_path, rng):
    """Neither those of a model's record nor those of file names, in results and in complaints."""
    record = {"data": {"positives": HOSTILE}, "settings": {HOSTILE: 1}, "stages": []}
    model, picture = tmp_path / f"{HOSTILE}.xml", tmp_path / f"{HOSTILE}.png"
    builders.accept_all(n_stages=1).with_metadata(record).save(model)
    write_image(picture, builders.smooth_noise(rng, 24, 24))
    for words in (("inspect", model), ("detect", model, picture, tmp_path / HOSTILE), ("inspect", HOSTILE)):
        ran = run(*words)
        assert SHOWN in ran.out + ran.err
        assert all(char.isprintable() or char == "\n" for char in ran.out + ran.err)
    model.write_text(json.dumps(record))
    assert SHOWN in run("inspect", model).err


def broken_models(folder, good):
    (folder / "page.xml").write_text("<!DOCTYPE html><html><body>404</body></html>")
    (folder / "nothing.xml").touch()
    (folder / "cut.xml").write_bytes(good.read_bytes()[:600])
    (folder / "plain.xml").write_text("just some words")
    write_image(folder / "picture.jpg", soft_noise(np.random.default_rng(1)))
    (folder / "picture.jpg").rename(folder / "picture.xml")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("page.xml", "web page"),
        ("nothing.xml", "empty"),
        ("cut.xml", "cut off|not well-formed"),
        ("plain.xml", "not a cascade|no cascade"),
        ("picture.xml", "not a cascade|no cascade"),
        ("nowhere.xml", "no such file"),
        ("accept-al.xml", "did you mean accept-all.xml"),
    ],
)
@pytest.mark.parametrize("command", ["inspect", "detect"])
def test_broken_models(run, accept_all, name, reason, command):
    folder = accept_all.parent
    broken_models(folder, accept_all)
    ran = run(command, folder / name, *([folder / "picture.png"] if command == "detect" else []))
    assert (ran.code, ran.out) == (2, "")
    assert any(words in ran.err for words in reason.split("|"))
    assert str(folder / name) in ran.err


TRAINCASCADE = """\
  <stageParams>
    <boostType>GAB</boostType>
    <minHitRate>9.9500000476837158e-01</minHitRate>
    <maxFalseAlarm>5.0000000000000000e-01</maxFalseAlarm>
    <weightTrimRate>9.4999999999999996e-01</weightTrimRate>
    <maxDepth>1</maxDepth>
    <maxWeakCount>100</maxWeakCount></stageParams>"""
"""As opencv_traincascade 3.4 writes it."""


def test_what_opencv_traincascade_recorded(run, accept_all):
    text = re.sub(r" *<stageParams>.*</stageParams>", TRAINCASCADE, accept_all.read_text(), flags=re.DOTALL)
    accept_all.write_text(text)
    expected = """
training record of opencv_traincascade:
  boostType: GAB (gentle AdaBoost)
  minHitRate: 0.995
  maxFalseAlarm: 0.5
  weightTrimRate: 0.95
  maxDepth: 1
  maxWeakCount: 100
  mode: CORE
"""
    assert run("inspect", accept_all).out.endswith(expected)
    accept_all.write_text(text.replace("<stageNum>1<", "<stageNum>20<").replace("GAB", "<_>1</_>"))
    ran = run("inspect", accept_all)
    assert "stages: 1\n" in ran.out
    assert ran.out.endswith("  mode: CORE\n  stageNum: 20\n")
    assert "boostType" not in ran.out


def test_lbp(run, tmp_path):
    """A cascade over LBP features, which know no tilt."""
    from vjcascade.cli.warmup import small_cascades

    small_cascades()[-1].save(tmp_path / "lbp.xml")
    ran = run("inspect", tmp_path / "lbp.xml")
    assert ran.code == 0
    assert "weak classifiers: 2 trees with 4 nodes; in each stage: 1 1" in ran.out
    assert "features: 1 LBP" in ran.out


def test_pictures_are_scanned(run, easy, rng):
    model = easy / "m.xml"
    builders.random_cascade(rng, Size(24, 24), tree_share=0.5).save(model)
    ran = run("inspect", model, easy / "neg", easy / "pos" / "000.png")
    assert ran.code == 0
    assert re.search(
        r"features in a window, on average: \d+\.\d\d, in [\d,]+ windows of 21 pictures\n", ran.out
    )
    head, *rows = re.findall(r"^ *(?:stage|\d+) +.*(?:reached|%).*$", ran.out, re.MULTILINE)
    assert "rejects  features" in head
    assert len(rows) == 3
    assert run("inspect", model, easy / "neg", easy / "pos" / "000.png", "--threads", 1).out == ran.out


def test_oddities_are_told(run, accept_all):
    told = "Stages that every window passes: 1 (the lowest sum of leaf values of stage 1 is 1, its threshold 0.5)."
    assert f"\noddities:\n  {told}\n" in run("inspect", accept_all).out


def test_json(run, easy, accept_all):
    told = json.loads(run("inspect", accept_all, easy / "neg", "--json").out)
    assert told["model"] == str(accept_all)
    assert told["stages"][0]["on_pictures"]["rejected"] == 0
    assert told["oddities"][0]["kind"] == "never missed"
    assert json.loads(run("inspect", accept_all, "--json").out)["pictures"] is None


def test_a_page(run, easy, accept_all):
    ran = run("inspect", accept_all, easy / "neg", "--html", easy / "page.html")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(f"page: {easy / 'page.html'}; open it in a browser\n")
    assert "What the stages reject" in (easy / "page.html").read_text(encoding="utf-8")
    ran = run("inspect", accept_all, "--html", easy / "page.html", "--json")
    assert json.loads(ran.out)["pictures"] is None
    assert "What the stages reject" not in (easy / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("{m}", "nowhere"), "nowhere"),
        (("{m}", "empty"), "there is no picture in this folder"),
        (("{m}", "broken.png"), "broken.png"),
        (("{m}", "small.png"), "small.png: smaller than the window of the model, 24x24"),
        (("{m}", "film.mp4"), "film.mp4: this is a video"),
        (("{m}", "rtsp://example.org/stream"), "download the file"),
        (("{m}", "--html", "{m}"), "would overwrite the model"),
        (("{m}", "small.png", "--html", "small.png"), "would overwrite the model or an input"),
        (("{m}", "--html", "no/page.html"), "there is no folder"),
        (("{m}", "--html", "out.xml"), "the output is an HTML page; give a name that ends in .html"),
        (("{m}", "--seed", "-1"), "--seed"),
    ],
)
def test_wrong_command_lines(run, accept_all, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.png").write_bytes(b"no picture")
    write_image(tmp_path / "small.png", np.zeros((20, 40), np.uint8))
    (tmp_path / "film.mp4").write_bytes(b"no film")
    before = accept_all.read_bytes()
    ran = run("inspect", *(word.format(m=accept_all) for word in words))
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert accept_all.read_bytes() == before
