"""The comparison with OpenCV: a small share of it; what it says of differences made up."""

from collections import Counter

import numpy as np
import pytest

NAMES = ["eye", "smile", "lbpcascade_frontalface_opencv", "license_plate_rus_16stages"]


@pytest.mark.oracle
def test_a_share_is_equal(run_program, oracle_python, tmp_path):
    share = ["--models", *NAMES, "--archives", "cbcl", "--pictures", "3", "--seed", "1"]
    done = run_program("check_equality.py", *share, "--oracle", oracle_python, "--data", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "no pictures of cbcl: it is not in the folder of --data" in lines
    assert "4 models, 3 pictures" in lines
    assert lines[-1] == "0 runs differ; 0 models skipped"
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    assert [row[:2] for row in cells[2:]] == [[name, "15"] for name in NAMES] + [["all", "60"]]
    n_windows, n_groups = (int(cell.replace(",", "")) for cell in cells[-1][2:4])
    assert n_windows > 0
    assert n_groups > 0


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
    tally.add(check.Run("eye", "a.png", True, Counter([one, two]), Counter([two, one])))
    assert not tally.differences
    tally.add(check.Run("eye", "b.png", False, Counter([one]), Counter([two])))
    tally.add(check.Run("eye", "c.png", False, Counter([one, one]), Counter([one])))  # as often, too
    assert [text.split(":")[0] for text in tally.differences] == ["eye, b.png", "eye, c.png"]
    assert f"only OpenCV: 1, as {one}; only vjcascade: 1, as {two}" in tally.differences[0]
    assert check.table({"eye": tally}).splitlines()[-1] == "| all | 3 | 2 | 3 | 2 |"


def test_the_same_pictures_in_a_smaller_check(program, tmp_path):
    check = program("check_equality")
    pictures = check.Pictures(tmp_path, tmp_path)
    paths, absent = check.chosen_paths(pictures, [], seed=0)
    assert not absent
    assert len(paths) > 20
    assert paths != sorted(paths)
    assert paths == check.chosen_paths(pictures, [], seed=0)[0]
    assert paths != check.chosen_paths(pictures, [], seed=1)[0]
