"""``vjcascade convert`` to exports, as a command line."""

import pytest
from export_models import model_of


@pytest.mark.parametrize("kind", ["lbp", "tilted", "tree"])
def test_the_command_refuses_with_a_reason_and_leaves_no_file(run, tmp_path, kind):
    model_of(kind).save(tmp_path / "m.xml")
    ran = run("convert", tmp_path / "m.xml", tmp_path / "m.cascade")
    assert ran.code == 2
    assert "m.xml: OpenMV's cascades have " in ran.err
    assert not (tmp_path / "m.cascade").exists()


def test_the_operating_point_decides_what_is_exported(run, tmp_path):
    model = model_of("stump")
    point = {"n_stages": 2, "scale_factor": 1.3, "min_neighbors": 5, "min_size": [30, 25]}
    model.with_metadata({"operating_point": point}).save(tmp_path / "m.xml")
    ran = run("convert", tmp_path / "m.xml", tmp_path / "m.json")
    assert ran.code == 0
    assert "(JSON tables, window 12x10, 2 stages)" in ran.err
    text = (tmp_path / "m.json").read_text()
    assert (
        '"settings": {"scale_factor": 1.3, "min_neighbors": 5, "min_size": [30, 25], "min_ranking_score": 0.0}'
        in text
    )
    ran = run("inspect", tmp_path / "m.json")
    assert ran.code == 2
    assert "exported as JSON, for other programs; give the cascade it was made from" in ran.err


def test_a_damaged_operating_point_is_no_export(run, tmp_path):
    model_of("stump").with_metadata({"operating_point": {"n_stages": 99}}).save(tmp_path / "m.xml")
    ran = run("convert", tmp_path / "m.xml", tmp_path / "m.h")
    assert ran.code == 2
    assert "m.xml: the operating point in the model's metadata is of 99 stages" in ran.err
