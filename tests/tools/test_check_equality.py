"""The comparison with OpenCV: a small share of it; what it says of differences made up."""

import gzip
import sys

import builders
import numpy as np
import pytest

from vjcascade import Size
from vjcascade.formats.cascade_files import dump_cascade
from vjcascade.imaging import write_image

NAMES = ["eye", "smile", "lbpcascade_frontalface_opencv", "license_plate_rus_16stages"]


@pytest.mark.oracle
def test_a_share_is_equal(run_program, oracle_python, tmp_path):
    share = ["--models", *NAMES, "--archives", "cbcl", "--pictures", "3", "--seed", "1"]
    done = run_program("check_equality.py", *share, "--oracle", oracle_python, "--data", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "no pictures of cbcl: it is not in the folder of --data" in lines
    assert "4 models, 3 pictures" in lines
    assert lines[-1] == "0 runs differ; 0 models skipped, 0 of them loaded by OpenCV"
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    assert [row[:2] for row in cells[2:]] == [[name, "15"] for name in NAMES] + [["all", "60"]]
    n_windows, n_groups = (int(cell.replace(",", "")) for cell in cells[-1][2:4])
    assert n_windows > 0
    assert n_groups > 0


@pytest.mark.oracle
def test_a_folder_of_files_on_given_photos(run_program, oracle_python, tmp_path, rng):
    files, photos = tmp_path / "files", tmp_path / "photos"
    for folder in (files / "inner", photos):
        folder.mkdir(parents=True)
    tidy = dump_cascade(builders.random_cascade(rng, Size(20, 16), (4, 5), tree_share=0))
    odd = tidy.replace(b"<opencv_storage>", b"<opencv_storage><!-- a -- \xe9 -->") + bytes(9)
    (files / "inner" / "odd.xml.gz").write_bytes(gzip.compress(odd))
    (files / "old.xml").write_bytes(tidy)
    (files / "cut.xml").write_bytes(tidy[:900])
    (files / "no declaration.xml").write_bytes(tidy.split(b"\n", 1)[1])
    (files / "notes.txt").touch()
    for name in ("a.png", "b.png"):
        write_image(photos / name, builders.smooth_noise(rng, 60, 80))
    options = (
        "--files",
        files,
        "--photos",
        photos,
        photos / "a.png",
        "--cases",
        "3",
        "--oracle",
        oracle_python,
    )
    done = run_program("check_equality.py", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("cut.xml is skipped: neither loads it: ") for line in lines)
    assert any(line.startswith("no declaration.xml is skipped: only vjcascade loads it: ") for line in lines)
    assert "2 models, 3 pictures" in lines
    assert lines[-1] == "0 runs differ; 2 models skipped, 0 of them loaded by OpenCV"
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")][2:]
    assert [row[:2] for row in rows] == [["inner/odd.xml.gz", "9"], ["old.xml", "9"], ["all", "18"]]


def test_a_library_that_fails_is_told_and_the_rest_compared(program):
    """And one that dies is started anew."""
    check = program("check_equality")
    library = program("library_process")
    tally = check.Tally()
    picture = check.Picture("a.png", np.zeros((40, 40), np.uint8))
    model = check.Model("gone", check.Path("gone.xml"), check.Path("gone.xml"))
    with (
        library.LibraryProcess(sys.executable, "vjcascade") as ours,
        library.LibraryProcess(sys.executable, "") as dead,
    ):
        for _ in range(2):
            check.compare(picture, model, np.ones((1, 7)), (dead, ours), tally)
        assert ours.ask("about")
    assert tally.n_runs == 0
    assert len(tally.differences) == 4
    assert tally.differences[0] == "gone, a.png: OpenCV fails: the process died: exit status 1"
    assert "gone, a.png: vjcascade fails: " in tally.differences[1]
    assert "gone.xml: there is no such file" in tally.differences[1]


def test_what_only_one_library_loads(program):
    data = program("detection_data")
    assert str(data.Refusal("m.xml", "", "no")) == "m.xml is skipped: only OpenCV loads it: no"
    assert str(data.Refusal("m.xml", "empty", "")) == "m.xml is skipped: only vjcascade loads it: empty"


def test_cases_depend_on_the_picture_and_the_seed_alone(program):
    check = program("check_equality")
    models = [check.Model(name, None, None) for name in NAMES]
    pixels = np.zeros((60, 90, 3), np.uint8)

    def cases(wanted, seed=0, name="a.png"):
        arguments = check.argparse.Namespace(seed=seed, cases=4)
        return check.cases_of(check.Picture(name, pixels), wanted, arguments)

    every = cases(models)
    assert every.shape == (4, 4, 7)
    np.testing.assert_array_equal(cases(models[2:3])[0], every[2])
    assert not np.array_equal(cases(models, seed=1), every)
    assert not np.array_equal(cases(models, name="b.png"), every)
    assert set(every[:, :, 6].ravel()) == {0, 1}  # colour and grey


def test_kinds_of_cases(program, rng):
    check = program("check_equality")
    size = check.Size(90, 60)
    kinds = check.kinds(rng, size)
    assert {neighbors for _, neighbors, _, _ in kinds} == {0, 3}
    assert all(factor > 1 for factor, *_ in kinds)
    assert any(low.width > high.width > 0 for _, _, low, high in kinds)
    assert any(low.width > size.width and low.height > size.height for _, _, low, _ in kinds)


def test_differences_are_told(program):
    check = program("check_equality")
    one, two = (1.0, 2.0, 24.0, 24.0, 1.0, 20.0, 0.5), (1.0, 2.0, 24.0, 24.0, 1.0, 20.0, 0.75)
    tally = check.Tally()
    tally.add(check.Run("eye", "a.png", True, [one, two], [one, two]))
    assert not tally.differences
    tally.add(check.Run("eye", "b.png", False, [one], [two]))
    tally.add(check.Run("eye", "c.png", False, [one, one], [one]))  # as often, too
    tally.add(check.Run("eye", "d.png", False, [one, one, two], [one, two, one]))
    assert [text.split(":")[0] for text in tally.differences] == ["eye, b.png", "eye, c.png", "eye, d.png"]
    assert tally.differences[2].endswith("another order, from row 1 of 3 on")
    assert f"only OpenCV: 1, as {one}; only vjcascade: 1, as {two}" in tally.differences[0]
    assert check.table({"eye": tally}).splitlines()[-1] == "| all | 4 | 2 | 6 | 3 |"


def test_the_same_pictures_in_a_smaller_check(program, tmp_path):
    check = program("check_equality")
    pictures = check.Pictures(tmp_path, tmp_path)
    paths, absent = check.shuffled_paths(pictures, [], seed=0)
    assert not absent
    assert len(paths) > 20
    assert paths != sorted(paths)
    assert paths == check.shuffled_paths(pictures, [], seed=0)[0]
    assert paths != check.shuffled_paths(pictures, [], seed=1)[0]
