"""Settings from TOML files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from vjcascade.boosters.costs import Costs
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode
from vjcascade.training import Preset, TrainingSettings, preset_settings, read_settings

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "train.md"


@pytest.fixture
def written(tmp_path):
    """Return `written(text) -> Path`: a TOML file."""

    def write(text):
        path = tmp_path / "signs.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def as_toml(settings):
    """Return settings as TOML, which writes numbers, strings, lists and switches nearly as Python does."""
    lines = [f"{name} = {value!r}" for name, value in settings.as_dict().items() if value is not None]
    return "\n".join(lines).replace("True", "true").replace("False", "false")


@pytest.mark.parametrize("preset", Preset)
def test_every_setting_can_be_in_it(written, preset):
    settings = preset_settings(preset, n_negatives=777, costs=(3.5, 0.25), baseline=False)
    path = written(as_toml(settings))
    assert read_settings(path) == settings
    assert read_settings(str(path)) == settings


def test_an_empty_file_says_nothing(written):
    assert read_settings(written("")) == TrainingSettings()
    assert read_settings(written("# nothing\r\n")) == TrainingSettings()


def test_hyphens_underscores_and_the_preset(written):
    settings = read_settings(written('preset = "thorough"\nhit-rate = 0.9\nmax_weak = 7\n'))
    assert settings == preset_settings(Preset.THOROUGH, hit_rate=0.9, max_weak=7)


@pytest.mark.parametrize(
    "line",
    [
        "costs = 4",
        "costs = [4, 1]",
        "costs = { gamma = 0.8 }",
        'costs = "4:1"',
        'costs = "gamma=0.8"',
        "costs = { matrix = [[0, 4], [1, 0]] }",
        "costs = [[0, 4], [1, 0]]",
        "[costs]\nratio = 4",
        "[costs]\npositive = 4\nnegative = 1",
        "costs.gamma = 0.8",
    ],
)
def test_costs(written, line):
    assert read_settings(written(line)).costs == Costs(4, 1)


def test_changes_go_before_the_file(written):
    path = written('preset = "quick"\nmax-stages = 3\nseed = 5\n')
    settings = read_settings(path, max_stages=4, mode=None)
    assert settings == preset_settings(Preset.QUICK, max_stages=4, seed=5)
    assert read_settings(path, preset=Preset.THOROUGH) == preset_settings("thorough", max_stages=3, seed=5)
    assert read_settings(path, preset="thorough").mode is HaarMode.ALL


def test_a_mark_at_the_beginning_is_no_harm(written):
    assert read_settings(written(b"\xef\xbb\xbfseed = 3\n")).seed == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("hit-rte = 0.9", r"signs\.toml: there is no setting 'hit-rte'; did you mean 'hit_rate'\?"),
        ("stages = 9", "there is no setting 'stages'; did you mean 'max_stages'"),
        ("[training]\nseed = 1", "there is no setting 'training'"),
        ("qqq = 1", "there is no setting 'qqq'; choose from: preset, booster, costs, "),
        ("hit-rate = 0.9\nhit_rate = 0.9", r"signs\.toml: hit_rate is set twice"),
        ("seed = 1\nhit-rate = \n", r"signs\.toml is not a TOML file: .*line 2"),
        ("seed = 1\nseed = 2\n", r"signs\.toml is not a TOML file: .*line 2"),
        ("seed", r"signs\.toml is not a TOML file: "),
        (f"seed = {'9' * 5000}", r"signs\.toml: a number has more digits than any setting"),
        (f"seed = {'[' * 9999}", r"signs\.toml is not a TOML file: "),
        (b"seed = 1 # \xff", r"signs\.toml is not a TOML file: it is not text in UTF-8"),
        ("hit-rate = 2", r"signs\.toml: hit_rate 2\.0 is not in \(0, 1\]"),
        ("seed = 1.5", r"signs\.toml: seed 1\.5 is not a whole number"),
        ("seed = 1979-05-27", r"signs\.toml: seed datetime\.date\(1979, 5, 27\) is not a whole number"),
        ('preset = "quik"', r"signs\.toml: there is no preset 'quik'; did you mean 'quick'\?"),
        ("preset = 1", r"signs\.toml: there is no preset 1"),
        ("costs = 0", r"signs\.toml: cost ratio 0 is not a finite number above zero"),
        ("costs = { gama = 0.8 }", r"signs\.toml: costs \{'gama': 0\.8\} cannot be read; write, for example"),
    ],
    ids=lambda text: str(text)[:20],
)
def test_bad_files(written, text, sentence):
    with pytest.raises(SettingsError, match=sentence):
        read_settings(written(text))


def test_whose_fault_it_is(written):
    path = written("hit-rate = 2\nn-negatives = 50\n")
    assert read_settings(path, hit_rate=0.9).hit_rate == 0.9
    with pytest.raises(SettingsError, match=r"^.*signs\.toml: hit_rate 2\.0"):
        read_settings(path, seed=1)
    with pytest.raises(SettingsError, match=r"^seed -1 is not a whole number, at least 0"):
        read_settings(written("seed = 2"), seed=-1)


def test_files_that_are_not_there(written):
    path = written("seed = 1")
    with pytest.raises(SettingsError, match=r"sings\.toml cannot be read: .*; did you mean 'signs\.toml'\?"):
        read_settings(path.with_name("sings.toml"))
    with pytest.raises(SettingsError, match="cannot be read: "):
        read_settings(path.parent)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
def test_a_device_without_an_end_is_refused():
    with pytest.raises(SettingsError, match=r"^/dev/zero cannot be read: it has more than 1 MiB$"):
        read_settings("/dev/zero")


@given(st.text(max_size=40))
def test_no_text_breaks_it(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        assert read_settings(path) == TrainingSettings()
    except SettingsError as error:
        assert "any.toml" in str(error)  # noqa: PT017  text that is right is as welcome


def test_the_readmes_file(written):
    block = re.search(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
    assert read_settings(written(block)) == preset_settings(
        "quick", booster="cost-generalized", costs=(4, 1), hit_rate=0.999
    )
