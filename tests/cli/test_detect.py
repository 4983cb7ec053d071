"""``vjcascade detect``: inputs, formats, drawings, and what goes wrong."""

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import builders
import numpy as np
import pytest
from easy_pictures import contents, save

from vjcascade import Size, imaging, read_image
from vjcascade.cli import console, search
from vjcascade.detection import grouping
from vjcascade.imaging import write_image
from vjcascade.video import VideoSink, read_frames

RAW = ("--min-neighbors", "0", "--scale-factor", "10")


@pytest.fixture
def texture(rng):
    """Return a picture in which an accept-all cascade accepts exactly one window."""
    return builders.smooth_noise(rng, 24, 24)


@pytest.fixture
def picture(tmp_path, texture):
    path = tmp_path / "a.png"
    write_image(path, texture)
    return path


@pytest.fixture
def blinking_video(tmp_path, rng):
    """Return a video of 5 frames, of which the second and the fourth are blank."""
    path = tmp_path / "clip.avi"
    frames = [np.dstack([builders.smooth_noise(rng, 48, 64)] * 3) for _ in range(5)]
    frames[1][:] = frames[3][:] = 128
    with VideoSink(path, 10, Size(64, 48)) as sink:
        for frame in frames:
            sink.write(frame)
    return path


def test_text(run, accept_all, picture):
    ran = run("detect", accept_all, picture, *RAW)
    assert ran.code == 0
    assert ran.out == f"{picture}: 1 detection: 0 0 24 24 (score 0.50, 1 neighbor, ranking score 0.7)\n"
    assert ran.err.splitlines()[-1] == "searched: 1; detections: 1"  # who comes first waits for the compiler


def test_nothing_is_imported_that_one_picture_does_not_need(accept_all, picture):
    words = ["detect", str(accept_all), str(picture), *RAW]
    code = (
        f"import sys; from vjcascade.cli.main import run; run({words}); print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = {"asyncio", "distributed", "fsspec", "jinja2", "skimage", "sklearn", "urllib.request"}
    assert not others & set(ran.stderr.split())


def test_json_lines(run, accept_all, picture):
    ran = run("detect", accept_all, picture, picture, *RAW, "--format", "jsonl")
    records = [json.loads(line) for line in ran.out.splitlines()]
    box = {"x": 0, "y": 0, "w": 24, "h": 24, "score": pytest.approx(0.5, abs=1e-4), "neighbors": 1}
    box["ranking_score"] = pytest.approx(0.5**0.5, abs=1e-4)
    assert records == [{"file": str(picture), "width": 24, "height": 24, "detections": [box]}] * 2


def test_low_ranking_scores_are_left_out(run, accept_all, picture):
    for least, n in ((0.5, 1), (0.9, 0)):
        ran = run("detect", accept_all, picture, *RAW, "--min-ranking-score", least)
        assert f": {n} detection" in ran.out
    assert run("detect", accept_all, picture, "--min-ranking-score", "-1").code == 2


def test_csv(run, accept_all, picture, tmp_path):
    table = tmp_path / "found.csv"
    ran = run("detect", accept_all, picture, *RAW, "--format", "csv", "-o", table)
    assert (ran.code, ran.out) == (0, "")
    (row,) = csv.DictReader(io.StringIO(table.read_text()))
    assert (row["file"], row["frame"], row["x"], row["w"], row["neighbors"]) == (
        str(picture),
        "",
        "0",
        "24",
        "1",
    )


def test_video_with_blank_frames(run, accept_all, blinking_video):
    ran = run("detect", accept_all, blinking_video, "--format", "jsonl", "--min-neighbors", "0")
    assert ran.code == 0
    records = [json.loads(line) for line in ran.out.splitlines()]
    assert [record["frame"] for record in records] == [0, 1, 2, 3, 4]
    assert [record["seconds"] for record in records] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4], abs=0.02)
    assert [bool(record["detections"]) for record in records] == [True, False, True, False, True]


def test_folders_are_searched_sorted_without_hidden_files(run, accept_all, texture, tmp_path):
    folder = tmp_path / "pictures"
    for name in ("b.png", "sub/c.png", "a.png", ".hidden.png", ".cache/d.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_image(folder / name, texture)
    (folder / "notes.txt").write_text("no picture")
    ran = run("detect", accept_all, folder, *RAW)
    names = [line.split(": ")[0] for line in ran.out.splitlines()]
    assert names == [str(folder / name) for name in ("a.png", "b.png", "sub/c.png")]


def test_unreadable_pictures_are_named_and_the_others_searched(run, accept_all, texture, tmp_path):
    folder = tmp_path / "pictures"
    save(folder, [texture, texture])
    (folder / "broken.png").write_text("no picture")
    ran = run("detect", accept_all, folder, tmp_path / "missing.png", *RAW)
    assert ran.code == 2
    assert ran.out.count("1 detection:") == 2
    assert "broken.png: this is not a picture" in ran.err
    assert "missing.png: cannot be opened" in ran.err
    assert "could not be read: 2 of 4" in ran.err


def test_drawings_of_one_name_do_not_meet(run, accept_all, texture, tmp_path):
    for name in ("one/x.png", "two/x.jpg", "two/X.bmp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_image(tmp_path / name, texture)
    ran = run("detect", accept_all, tmp_path / "one", tmp_path / "two", *RAW, "--draw", tmp_path / "drawn")
    assert ran.code == 0
    drawn = contents(tmp_path / "drawn")
    assert {str(path).casefold() for path in drawn} == {"x.found.png", "x-2.found.png", "x-3.found.png"}
    assert (read_image(tmp_path / "drawn" / "x.found.png")[0, 0] == (0, 255, 0)).all()


def test_nothing_is_drawn_that_nobody_sees(run, accept_all, picture, monkeypatch):
    monkeypatch.setattr(imaging, "draw_boxes", None)
    assert run("detect", accept_all, picture, *RAW).code == 0


def test_drawing_overwrites_nobodys_picture(run, accept_all, texture, tmp_path):
    save(tmp_path / "one", [texture])
    save(tmp_path / "two", [texture])
    before = contents(tmp_path)
    assert run("detect", accept_all, tmp_path / "one", "--draw", tmp_path / "two").code == 0
    after = contents(tmp_path)
    assert {str(path) for path in after.keys() - before.keys()} == {"two/000.found.png"}
    assert before.items() <= after.items()


@pytest.mark.parametrize("drawn", [".", "drawn", "sub"])
def test_the_same_command_twice_makes_no_more_files(run, accept_all, texture, tmp_path, drawn):
    folder = tmp_path / "pictures"
    save(folder / "sub", [texture])
    save(folder, [texture])
    kept = []
    for _ in range(2):
        ran = run("detect", accept_all, folder, *RAW, "--draw", folder / drawn)
        assert (ran.code, len(ran.out.splitlines())) == (0, 2)
        kept.append(contents(folder))
    assert kept[0] == kept[1]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (("a.png", "-o", "accept-all.xml"), "accept-all.xml"),
        (("a.png", "-o", "sub/../accept-all.xml"), "accept-all.xml"),
        (("a.png", "-o", "link"), "accept-all.xml"),
        (("picture", "-o", "picture"), "picture"),
        (("a.png", "a.found.png", "--draw", "."), "a.found.png"),
    ],
)
def test_output_never_overwrites_model_or_input(run, accept_all, picture, monkeypatch, words, kept):
    folder = picture.parent
    monkeypatch.chdir(folder)
    (folder / "sub").mkdir()
    (folder / "link").symlink_to(accept_all)
    for copy in ("picture", "a.found.png"):
        (folder / copy).write_bytes(picture.read_bytes())
    before = contents(folder)
    ran = run("detect", "accept-all.xml", *words)
    assert (ran.code, ran.out) == (2, "")
    assert "would overwrite the model or an input" in ran.err
    assert contents(folder) == before


def test_results_of_an_earlier_run_are_replaced(run, accept_all, picture, tmp_path):
    for options in ((), RAW):
        assert run("detect", accept_all, picture, *options, "-o", tmp_path / "found.txt").code == 0
    assert "1 detection:" in (tmp_path / "found.txt").read_text()


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that even root cannot write to")
@pytest.mark.parametrize(
    "options", [("-o", "/proc/found.txt"), ("--draw", "/proc"), ("--draw", "/proc/drawn")]
)
def test_places_that_cannot_be_written_are_refused_before_the_work(run, accept_all, picture, options):
    ran = run("detect", accept_all, picture, *options)
    assert (ran.code, ran.out) == (2, "")
    assert "give another path" in ran.err


def test_where_nothing_is_drawn_no_folder_is_left(run, accept_all, tmp_path):
    (tmp_path / "b.png").write_text("no picture")
    assert run("detect", accept_all, tmp_path / "b.png", "--draw", tmp_path / "drawn").code == 2
    assert not (tmp_path / "drawn").exists()


def test_drawn_video(run, accept_all, blinking_video, tmp_path):
    ran = run("detect", accept_all, blinking_video, "--min-neighbors", "0", "--draw", tmp_path / "drawn")
    assert ran.code == 0
    frames = list(read_frames(tmp_path / "drawn" / "clip.found.mp4"))
    assert len(frames) == 5
    assert frames[1].seconds == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "give pictures, folders or videos"),
        (("a.png", "--camera", "0"), "give pictures, folders or videos"),
        (("a.png", "--scale-factor", "1"), "--scale-factor 1.0"),
        (("a.png", "--scale-factor", "nan"), "--scale-factor nan"),
        (("a.png", "--min-neighbors", "-1"), "-1"),
        (("a.png", "--min-size", "big"), "'big'"),
        (
            ("a.png", "--min-size", "9x30", "--max-size", "40x20"),
            "--min-size 9x30 is larger than --max-size 40x20",
        ),
        (("a.png", "rtsp://host.example/stream"), "download the file"),
        (("a.png", "-o", "result.png"), "--draw"),
        (("a.png", "-o", "nowhere/result.txt"), "no folder"),
        (("a.png", "-o", "."), "this is a folder"),
        (("a.png", "--draw", "a.png"), "the output would overwrite the model or an input"),
        (("a.png", "a.png", "--draw", "b.png"), "--draw b.png names one file, but there are 2 inputs"),
        (("a.png", "--draw", "b.mp4"), "--draw b.mp4: of a.png a picture, as out.png, can be drawn"),
        (("a.png", "--draw", "nowhere/b.png"), "there is no folder"),
        (("a.png", "--draw", "a.png/drawn"), "cannot be used (not a directory)"),
        (("empty",), "there is no picture in this folder"),
        (("a.png", "\u2013draw", "out"), "long dash"),
        (("a.png", "--show"), "screen"),
    ],
)
def test_wrong_command_lines(run, accept_all, picture, monkeypatch, options, reason):
    monkeypatch.chdir(picture.parent)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    (picture.parent / "empty").mkdir()
    before = contents(picture.parent)
    ran = run("detect", accept_all, *options)
    assert (ran.code, ran.out) == (2, "")
    assert reason in ran.err
    assert contents(picture.parent) == before


def test_a_reader_that_has_had_enough(accept_all, picture):
    words = [sys.executable, "-m", "vjcascade", "detect", accept_all, *RAW, *[picture] * 3000]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith(str(picture))
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_names_that_a_terminal_cannot_show(accept_all, texture, tmp_path):
    path = tmp_path / "Stra\u00dfe \u732b.png"
    write_image(path, texture)
    words = [sys.executable, "-m", "vjcascade", "detect", accept_all, *RAW, path, tmp_path / "\u732b.png"]
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path), "LC_ALL": "C"}
    ran = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert "\\xdf" in ran.stdout
    assert "\\u732b.png: cannot be opened" in ran.stderr


def test_names_with_line_breaks_stay_on_their_line(run, accept_all, texture, tmp_path):
    """Else a file could forge results of others."""
    write_image(tmp_path / "a.png: 0 detections\nb.png", texture)
    (tmp_path / "bad\nname.png").write_bytes(b"no picture")
    ran = run("detect", accept_all, tmp_path, *RAW)
    assert (
        ran.out == f"{tmp_path}/a.png: 0 detections\\nb.png: 1 detection: 0 0 24 24 "
        "(score 0.50, 1 neighbor, ranking score 0.7)\n"
    )
    assert f"cannot be searched: {tmp_path}/bad\\nname.png: this is not a picture" in ran.err


@pytest.mark.parametrize("options", [(), ("--dense",), ("--dense", "--group", "nms")])
def test_long_grouping_tells_how_far_it_is(run, accept_all, tmp_path, rng, monkeypatch, options):
    """Millions of windows that a weak model accepts take a while to group."""
    write_image(tmp_path / "large.png", builders.smooth_noise(rng, 90, 120))
    monkeypatch.setattr(search, "SECONDS_OF_GROUPING", 0.0)
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(grouping, "CELLS_AT_ONCE", 30)
    monkeypatch.setattr(grouping, "WINDOWS_AT_ONCE", 1000)
    ran = run("detect", accept_all, tmp_path / "large.png", *options)
    assert ran.code == 0
    shares = re.findall(r"^grouping the windows of large\.png: (\d+)%$", ran.err, re.MULTILINE)
    assert len(shares) > 5
    assert [int(share) for share in shares] == sorted(int(share) for share in shares)
    assert int(shares[0]) == 0
    assert 80 < int(shares[-1]) < 100


def test_short_grouping_is_silent(run, accept_all, picture, monkeypatch):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    assert "grouping the" not in run("detect", accept_all, picture).err


@pytest.fixture
def street(tmp_path, texture):
    """Return a folder with three pictures, of which one is blank, in two folders."""
    for i, name in enumerate(("a.png", "b.png", "more/a.png")):
        pixels = np.full((40, 60), 128, np.uint8)
        if name != "b.png":
            pixels[5 : 5 + 24, 3 * i : 3 * i + 24] = texture
        (tmp_path / "street" / name).parent.mkdir(exist_ok=True, parents=True)
        write_image(tmp_path / "street" / name, pixels)
    return tmp_path / "street"


@pytest.mark.parametrize(
    ("kind", "name"), [("coco", "found.json"), ("yolo", "found"), ("voc", "found"), ("csv", "found.csv")]
)
def test_annotations_come_back_as_they_were_found(run, accept_all, street, kind, name):
    from vjcascade.formats.annotations.reading import read_annotations

    plain = run("detect", accept_all, street, "--min-neighbors", "0", "--format", "jsonl")
    true = {}
    for record in map(json.loads, plain.out.splitlines()):
        true[Path(record["file"])] = [tuple(one[side] for side in "xywh") for one in record["detections"]]
    output = street.parent / "out" / name
    output.parent.mkdir()
    options = [
        "--min-neighbors",
        "0",
        "--format",
        kind,
        "-o",
        output,
        *(["--label", "car"] if kind != "csv" else []),
    ]
    ran = run("detect", accept_all, street, *options)
    assert (ran.code, ran.out) == (0, "")
    read = read_annotations(output, pictures=[street.parent])
    found = {one.path.resolve(): list(one.boxes) for one in read.pictures}
    assert sum(map(len, true.values())) > 3
    assert found == {path.resolve(): boxes for path, boxes in true.items() if boxes or kind != "csv"}
    assert read.used_labels == ({"car"} if kind != "csv" else set())
    assert run("detect", accept_all, street, *options).code == 0  # replaced


def test_coco_goes_to_standard_output_as_well(run, accept_all, street):
    ran = run("detect", accept_all, street, "--min-neighbors", "0", "--format", "coco")
    content = json.loads(ran.out)
    assert [one["name"] for one in content["categories"]] == ["object"]
    assert len(content["images"]) == 3
    assert all(one["score"] > 0 for one in content["annotations"])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ["--format", "yolo"],
            "--format yolo makes a file for each picture: give a folder for them to --output",
        ),
        (["--format", "voc", "-o", "a.xml"], "a.xml: --output needs a folder and this is a file"),
        (["--label", "car"], "--label is for --format coco, yolo or voc"),
        (["--format", "coco", "-o", "gone/a.json"], "there is no folder"),
    ],
)
def test_annotations_that_cannot_be_written_are_refused_before(
    run, accept_all, street, options, reason, monkeypatch
):
    monkeypatch.chdir(street.parent)
    Path("a.xml").touch()
    ran = run("detect", accept_all, street, *options)
    assert ran.code == 2
    assert reason in ran.err
    assert not (street.parent / "gone").exists()


def test_videos_have_no_place_in_annotations(run, accept_all, blinking_video):
    ran = run("detect", accept_all, blinking_video, "--format", "coco")
    assert ran.code == 2
    assert "--format coco names picture files and" in ran.err


def test_two_pictures_with_one_text_file_are_refused(run, accept_all, street):
    write_image(street / "a.jpg", np.zeros((30, 30), np.uint8))
    ran = run("detect", accept_all, street, "--format", "yolo", "-o", street.parent / "out")
    assert ran.code == 2
    assert "would both have the file a.txt: rename one of them" in ran.err
    assert not (street.parent / "out").exists()


def test_a_drawn_picture_may_be_named(run, accept_all, picture, tmp_path):
    assert run("detect", accept_all, picture, *RAW, "--draw", tmp_path / "out.png").code == 0
    assert (tmp_path / "out.png").is_file()
    assert (read_image(tmp_path / "out.png")[0, 0] == (0, 255, 0)).all()
    (tmp_path / "folder.png").mkdir()
    assert run("detect", accept_all, picture, *RAW, "--draw", tmp_path / "folder.png").code == 0
    assert [path.name for path in (tmp_path / "folder.png").iterdir()] == [f"{picture.stem}.found.png"]


def test_of_many_pictures_only_those_with_detections_have_a_line(run, accept_all, texture, tmp_path):
    save(tmp_path / "many", [texture, np.zeros((10, 10), np.uint8), texture])
    ran = run("detect", accept_all, tmp_path / "many", *RAW)
    assert [line.split(": ")[1] for line in ran.out.splitlines()] == ["1 detection", "1 detection"]
    assert ran.err.splitlines()[-1] == "searched: 3; detections: 2; nothing found in: 1"
    alone = run("detect", accept_all, tmp_path / "many" / "001.png")
    assert alone.out.endswith("001.png: 0 detections\n")
    assert alone.err.splitlines()[-1] == "searched: 1; detections: 0"
    lines = run("detect", accept_all, tmp_path / "many", *RAW, "--format", "jsonl").out.splitlines()
    assert len(lines) == 3


def test_a_least_size_of_another_shape_than_the_objects_is_explained(run, tmp_path, picture):
    wide = replace(builders.accept_all(), window=Size(48, 24))
    wide.save(tmp_path / "wide.xml")
    told = run("detect", tmp_path / "wide.xml", picture, "--min-size", "60").err
    assert (
        "note: --min-size 60x60: the model's window is 48x24, so the smallest objects it searches for are "
        "120x60; for objects 60 pixels wide, give 60x30" in told
    )
    for fitting in ("60x30", "60x26"):
        assert "note" not in run("detect", tmp_path / "wide.xml", picture, "--min-size", fitting).err
