"""The door: which format a name asks for, that refusals leave no file, and that all is tried."""

from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from sample_cascades import accept_all

from vjcascade.cascade import Cascade
from vjcascade.cli.convert import convert
from vjcascade.errors import ModelError, SettingsError
from vjcascade.exports import EXPORTS, ExportFormat, export_cascade, format_of
from vjcascade.types import Size


def test_every_format_is_known_everywhere():
    assert {"new", "old", *EXPORTS} == set(get_args(ExportFormat))
    assert get_type_hints(convert)["to"] == ExportFormat | None


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_suffixes_ask_for_exports(export):
    for suffix in export.suffixes:
        assert format_of(Path(f"a{suffix.upper()}")) == export.name
        assert format_of(Path(f"a{suffix}"), export.name) == export.name
        with pytest.raises(SettingsError, match=r"--to new does not fit"):
            format_of(Path(f"a{suffix}"), "new")
    assert format_of(Path("a"), export.name) == export.name
    with pytest.raises(SettingsError, match=r"does not fit \.xml files; give a name that ends in"):
        format_of(Path("a.xml"), export.name)


@pytest.mark.parametrize("name", ["a.onnx", "a.json.gz", "a.tar.gz", "a.cpp"])
def test_unknown_suffixes(name):
    with pytest.raises(
        SettingsError, match=r"files cannot be written; give a name that ends in \.xml, \.xml\.gz, \.h, "
    ):
        format_of(Path(name))


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_everything_is_written_once_tried(tmp_path, export):
    path = tmp_path / f"m{export.suffixes[0]}"
    done = export_cascade(accept_all(), path, export.name, n_windows=1000)
    assert done.label == f"{export.label}, window 24x24, 1 stage"
    assert done.proof.startswith("1,000 windows, of which the model accepts ")
    assert path.read_bytes() == export.dump(accept_all(), path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("hit_rate", [0.9966555183946488, "0.9967"])
def test_the_training_record_is_told(hit_rate):
    record = {
        "stage": 2,
        "tuned": {"hit_rate": hit_rate, "false_alarm_rate": 0.48},
        "hit_rate_on": "held-out",
    }
    data = EXPORTS["python"].dump(accept_all().with_metadata({"stages": [record]}), Path("m.py"))
    assert b"Stage 2: hit rate 0.9967, false-alarm rate 0.48 on held-out windows" in data


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_nothing_is_written_that_fails_or_cannot_be(tmp_path, export, monkeypatch):
    path = tmp_path / f"m{export.suffixes[0]}"
    with pytest.raises(ModelError, match="a cascade without stages"):
        export_cascade(Cascade(Size(24, 24)), path, export.name)

    def fails(*_):
        raise ModelError("it differs")

    monkeypatch.setattr(export, "verify", fails)
    with pytest.raises(ModelError, match="it differs"):
        export_cascade(accept_all(), path, export.name, n_windows=100)
    assert list(tmp_path.iterdir()) == []
