"""``vjcascade convert``: formats, and what goes wrong. The command is called as a function, without its parser."""

import gzip

import builders
import numpy as np
import pytest
from model_files import as_json, lbp_cascade
from sample_cascades import assert_same, cascade_with

from vjcascade.cascade import CHANGES
from vjcascade.cli.convert import convert
from vjcascade.errors import ModelError, ModelNotFoundError, SettingsError
from vjcascade.formats.cascade_files import dump_cascade, load_cascade


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.json.gz"
    path.write_bytes(gzip.compress(as_json(dump_cascade(cascade_with()))))
    return path


@pytest.mark.parametrize("format_", ["new", "old"])
@pytest.mark.parametrize("name", ["out.xml", "out", "out.XML.gz"])  # what `--format` says needs no suffix
def test_output_is_in_the_format_asked_for(model, tmp_path, format_, name):
    convert(model, tmp_path / name, format=format_)
    data = (tmp_path / name).read_bytes()
    assert (gzip.decompress(data) if name.endswith("gz") else data) == dump_cascade(cascade_with(), format_)


def test_what_was_written_is_said(model, tmp_path, capsys):
    convert(model, tmp_path / "out.xml", format="old")
    cascade = cascade_with()
    out, err = capsys.readouterr()
    assert out == ""
    written, tried = err.splitlines()
    assert written == f"written: {tmp_path / 'out.xml'} (old format, window {cascade.window}, 1 stage)"
    assert tried.startswith("tested on 20,000 windows, of which the model accepts ")
    assert tried.endswith(": identical results, read back")


def test_there_and_back(model, tmp_path):
    convert(model, tmp_path / "old.xml", format="old")
    convert(tmp_path / "old.xml", tmp_path / "new.xml")
    assert_same(load_cascade(tmp_path / "new.xml"), load_cascade(tmp_path / "old.xml"))


def test_an_older_output_is_replaced_whole(model, tmp_path):
    (tmp_path / "out.xml").write_bytes(100_000 * b"x")
    convert(model, tmp_path / "out.xml")
    assert (tmp_path / "out.xml").read_bytes() == dump_cascade(cascade_with())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json.gz", "out.xml"]


@pytest.mark.parametrize("link", [False, True])
def test_the_model_is_not_overwritten(tmp_path, link):
    model = output = tmp_path / "model.xml"
    model.write_bytes(dump_cascade(cascade_with()))
    if link:
        output = tmp_path / "link.xml"
        output.symlink_to(model)
    with pytest.raises(SettingsError, match="would overwrite the model"):
        convert(model, output, format="old")
    assert model.read_bytes() == dump_cascade(cascade_with())


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("out.yml", ".yml"),
        ("out.YAML", ".yaml"),
        ("out.onnx", ".onnx"),
        ("out.xml.txt", ".txt"),
        ("out.h.gz", ".h.gz"),
    ],
)
def test_names_that_promise_another_form_are_refused(model, tmp_path, name, suffix):
    with pytest.raises(
        SettingsError, match=rf" {suffix} files cannot be written; give a name that ends in \.xml, "
    ):
        convert(model, tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["out", ".xml"])
def test_a_name_without_a_suffix_needs_a_format(model, tmp_path, name):
    with pytest.raises(
        SettingsError, match=r"its name has no suffix to choose .* in \.xml, .*, or choose it with --to"
    ):
        convert(model, tmp_path / name)
    assert not (tmp_path / name).exists()


def test_the_suffix_decides_and_to_and_format_must_agree(model, tmp_path, capsys):
    convert(model, tmp_path / "out.H")
    assert (tmp_path / "out.H").read_bytes().startswith(b"/* out.H: an object detector")
    assert "C99 scanner, window 20x18, 1 stage" in capsys.readouterr().err
    convert(model, tmp_path / "out.xml", to="old", format="old")
    for name, options, message in (
        ("a.xml", {"to": "new", "format": "old"}, "--to new and --format old exclude each other"),
        ("a.h", {"to": "new"}, r"a\.h: --to new does not fit \.h files; give .* in \.xml or \.xml\.gz"),
        ("a.h", {"format": "old"}, r"--to old does not fit \.h files"),
        ("a.xml", {"to": "c"}, r"--to c does not fit \.xml files; give a name that ends in \.h or \.c"),
        ("a.bin", {"to": "c"}, r"\.bin files cannot be written; give a name that ends in \.xml, "),
    ):
        with pytest.raises(SettingsError, match=message):
            convert(model, tmp_path / name, **options)
        assert not (tmp_path / name).exists()


def test_what_is_not_equal_is_not_written(model, tmp_path, monkeypatch):
    from vjcascade.exports import exporting

    monkeypatch.setattr(exporting, "dump_cascade", lambda *_: dump_cascade(cascade_with(leaves=[0] * 5)))
    with pytest.raises(ModelError, match=r"model\.json\.gz: the export differs for [\d,]+ of 20,000 windows"):
        convert(model, tmp_path / "out.xml")
    assert not (tmp_path / "out.xml").exists()


def test_what_the_format_cannot_express(tmp_path):
    model = tmp_path / "lbp.xml"
    model.write_bytes(dump_cascade(lbp_cascade()))
    with pytest.raises(ModelError, match=r"lbp\.xml: the old format has no LBP features; write the new"):
        convert(model, tmp_path / "old.xml", format="old")
    assert not (tmp_path / "old.xml").exists()


def test_places_that_are_not_there(model, tmp_path):
    with pytest.raises(ModelNotFoundError, match="did you mean"):
        convert(tmp_path / "model.jsn.gz", tmp_path / "out.xml")
    with pytest.raises(SettingsError, match="there is no folder"):
        convert(model, tmp_path / "nowhere" / "out.xml")
    with pytest.raises(SettingsError, match="this is a folder"):
        convert(model, tmp_path)


@pytest.fixture
def three_stages(rng, tmp_path):
    path = tmp_path / "three.xml"
    builders.random_cascade(rng, stages=(3, 4, 5)).save(path)
    return path


@pytest.mark.parametrize("format_", ["new", "old"])
def test_a_model_is_cut_and_its_thresholds_moved(three_stages, tmp_path, format_, capsys):
    convert(three_stages, tmp_path / "out.xml", format=format_, stages=2, shift=-0.5, shift_last=1)
    whole, cut = load_cascade(three_stages), load_cascade(tmp_path / "out.xml")
    assert cut.stage_thresholds.tolist() == [
        whole.stage_thresholds[0],
        whole.stage_thresholds[1] - np.float32(0.5),
    ]
    n_nodes = {"new": len(set(whole.nodes["feature"][:7])), "old": 7}  # the old format shares no features
    assert len(cut.features) == n_nodes[format_]
    assert cut.metadata == {
        CHANGES: [{"first_stages": 2, "of": 3}, {"threshold_shift": -0.5, "last_stages": 1}]
    }
    assert "2 stages" in capsys.readouterr().err


def test_all_stages_are_what_is_written_without_options(three_stages, tmp_path):
    convert(three_stages, tmp_path / "all.xml", stages=3)
    assert_same(load_cascade(tmp_path / "all.xml"), load_cascade(three_stages).without_unused_features())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"stages": 4}, "stages 4 is not a whole number from 0 to 3; as many as the model has"),
        ({"shift": float("nan")}, "shift of the thresholds nan is not in"),
        ({"shift": 1.0, "shift_last": 4}, "last stages 4 is not a whole number from 0 to 3"),
        ({"stages": 2, "shift": 1.0, "shift_last": 3}, "last stages 3 is not a whole number from 0 to 2"),
        ({"shift_last": 1}, "--shift-last 1 chooses which thresholds --shift changes: add --shift"),
    ],
)
def test_changes_out_of_range(three_stages, tmp_path, options, reason):
    with pytest.raises(SettingsError, match=reason):
        convert(three_stages, tmp_path / "out.xml", **options)
    assert not (tmp_path / "out.xml").exists()


@pytest.mark.oracle
def test_opencv_files_are_cut(opencv_models, tmp_path):
    convert(opencv_models / "haarcascade_frontalface_alt2.xml", tmp_path / "cut.xml", stages=12)
    whole, cut = (
        load_cascade(path)
        for path in (opencv_models / "haarcascade_frontalface_alt2.xml", tmp_path / "cut.xml")
    )
    assert cut.stage_thresholds.tolist() == whole.stage_thresholds[:12].tolist()
    assert cut.metadata == {CHANGES: [{"first_stages": 12, "of": 20}]}
