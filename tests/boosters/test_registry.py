from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import plugin_packages
import pytest

from vjcascade.boosters import Booster, Costs, booster_names, make_booster, register, registry
from vjcascade.boosters.adaboost import AdaBoost
from vjcascade.errors import SettingsError

BUILT_IN = {
    *(
        "adaboost",
        "asymboost",
        "adacost",
        "csb0",
        "csb1",
        "csb2",
        "adac1",
        "adac2",
        "adac3",
        "cost-sensitive",
    ),
    *("adaboostdb", "cost-generalized", "real", "gentle", "logit", "cost-generalized-real"),
    *("cost-generalized-gentle", "cost-generalized-logit", "cost-sensitive-real", "cost-sensitive-logit"),
}


def test_every_name_makes_its_booster():
    assert booster_names() == sorted(booster_names())
    assert set(booster_names()) >= BUILT_IN
    for name in BUILT_IN:
        booster = make_booster(name, Costs(2, 1), 7)
        assert (booster.name, booster.costs, booster.n_rounds) == (name, Costs(2, 1), 7)


@pytest.mark.parametrize("costs", [4, (4, 1), "4:1", "gamma=0.8", [[0, 4], [1, 0]]])
def test_costs_are_read_however_they_are_written(costs):
    assert make_booster("adaboost", costs).costs == Costs(4, 1)


@pytest.mark.parametrize("costs", ["much", None, [1, 2, 3], -4, True])
def test_what_are_no_costs_is_named(costs):
    with pytest.raises(SettingsError, match="cost"):
        make_booster("adaboost", costs)


def test_near_names_are_told():
    with pytest.raises(SettingsError, match="no booster named 'adabost'; did you mean 'adaboost'"):
        make_booster("adabost", Costs())
    with pytest.raises(SettingsError, match=r"choose from: .*adaboost"):
        make_booster("zzz", Costs())
    with pytest.raises(SettingsError, match="no booster named 3"):
        make_booster(3, Costs())


def test_unknown_options_are_told():
    with pytest.raises(SettingsError, match="booster 'adaboost' has no option 'prior'; it has none"):
        make_booster("adaboost", Costs(), prior="class")
    with pytest.raises(SettingsError, match="'cost-generalized' has no option 'pior'; did you mean 'prior'"):
        make_booster("cost-generalized", Costs(), pior="class")
    with pytest.raises(SettingsError, match="'adaboostdb' has no option 'zzz'; choose from: prior, select"):
        make_booster("adaboostdb", Costs(), zzz=1)


@pytest.mark.parametrize("n_rounds", [0, -1, 2.5, True, "7"])
def test_rounds_are_counted(n_rounds):
    with pytest.raises(SettingsError, match=f"n_rounds {n_rounds!r} is not a whole number"):
        make_booster("asymboost", Costs(), n_rounds)


def test_rounds_may_be_numpys():
    assert make_booster("asymboost", Costs(), np.int64(7)).n_rounds == 7


def test_a_name_is_given_once():
    class Other(AdaBoost):
        pass

    with pytest.raises(SettingsError, match="already is a booster named 'adaboost'"):
        register(Other)
    assert type(make_booster("adaboost", Costs())) is AdaBoost
    assert register(AdaBoost) is AdaBoost  # twice the same does no harm


def test_registered_boosters_are_made(monkeypatch):
    monkeypatch.setattr(registry, "_BOOSTERS", dict(registry._BOOSTERS))

    @register
    class Mine(AdaBoost):
        name = "mine"

        def __init__(self, costs, n_rounds=100, *, strength, **more):
            super().__init__(costs, n_rounds)
            self.settings = strength, more

    assert "mine" in booster_names()
    assert make_booster("mine", Costs(), strength=2, anything=3).settings == (2, {"anything": 3})
    with pytest.raises(
        SettingsError, match=r"booster 'mine' cannot be made: missing a required .*'strength'"
    ):
        make_booster("mine", Costs())


# ---- Plug-ins --------------------------------------------------------------------------------------------------------

GOOD = """
from vjcascade.boosters.adaboost import AdaBoost

class Good(AdaBoost):
    name = "good"
"""


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Return `install(package, entry_points, **modules)`, which also lets the registry forget what it has seen."""
    modules = set(sys.modules)

    def forget():
        registry._plugins.cache_clear()
        registry._tried.cache_clear()

    def install(package, entry_points, **modules):
        plugin_packages.install(tmp_path, package, entry_points, **modules)
        monkeypatch.syspath_prepend(tmp_path)
        forget()

    yield install
    forget()
    for module in set(sys.modules) - modules:
        if (tmp_path / f"{module}.py").exists():
            del sys.modules[module]


def test_a_plugin_is_found(plugins):
    plugins("some-good", {"good": "plugin_good:Good"}, plugin_good=GOOD)
    assert make_booster("good", 4, 5).costs == Costs(4, 1)
    assert set(booster_names()) >= BUILT_IN | {"good"}
    with pytest.raises(SettingsError, match="no booster named 'god'; did you mean 'good'"):
        make_booster("god", Costs())


def test_code_of_a_plugin_has_a_digest_that_changes_with_it(plugins, tmp_path):
    plugins("some-good", {"good": "plugin_good:Good"}, plugin_good=GOOD)
    first = registry.code_digest("good")
    assert first == registry.code_digest("good") != ""
    (tmp_path / "plugin_good.py").write_text(f"{GOOD}    strength = 2\n")
    assert registry.code_digest("good") != first
    assert {registry.code_digest(name) for name in BUILT_IN} == {""}


def test_plugins_are_imported_only_when_needed(plugins):
    plugins("some-loud", {"loud": "plugin_loud:Loud"}, plugin_loud="raise ValueError('too loud')")
    plugins("some-good", {"good": "plugin_good:Good"}, plugin_good=GOOD)
    for name in (*BUILT_IN, "good"):
        make_booster(name, Costs())
    assert "plugin_good" in sys.modules
    with pytest.raises(SettingsError, match="ValueError: too loud"):
        make_booster("loud", Costs())


def test_what_is_known_is_made_without_looking_for_plugins():
    no_looking = "import importlib.metadata as m; m.entry_points = None"
    code = f"{no_looking}; from vjcascade.boosters import make_booster; make_booster('csb2', 2)"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)


BROKEN = {
    "gone": (
        "plugin_gone:Gone",
        None,
        "cannot be imported: ModuleNotFoundError: No module named 'plugin_gone'",
    ),
    "lost": ("plugin_lost:Lost", GOOD, "cannot be imported: AttributeError"),
    "leaves": ("plugin_leaves:X", "import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
    "typo": ("plugin_typo:X", "class X:\n    pass pass", "cannot be imported: SyntaxError"),
    "whole": ("plugin_whole", GOOD, r"is not a subclass of vjcascade\.boosters\.Booster, but <module"),
    "other": ("plugin_other:Other", "class Other:\n    name = 'other'", "is not a subclass of .* but <class"),
    "made": (
        "plugin_made:made",
        f"{GOOD}\nfrom vjcascade.boosters import Costs\nmade = Good(Costs())",
        "is not a subclass of .* but <plugin_made.Good object",
    ),
    "half": (
        "plugin_half:Half",
        "from vjcascade.boosters import DiscreteBooster\nclass Half(DiscreteBooster):\n    name = 'half'",
        "is abstract: it lacks alpha, log_weights",
    ),
    "alias": ("plugin_alias:Good", GOOD, "class attribute name = 'good': it must be 'alias'"),
    "unnamed": (
        "plugin_unnamed:Mute",
        GOOD.replace('name = "good"', "name = None").replace("Good", "Mute"),
        "class attribute name = None: it must be 'unnamed'",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_harms_only_itself(plugins, name):
    value, text, message = BROKEN[name]
    module = value.split(":")[0]
    plugins(f"some-{name}", {name: value}, **({} if text is None else {module: text}))
    plugins("some-good", {"good": "plugin_good:Good"}, plugin_good=GOOD)
    assert set(booster_names()) >= BUILT_IN | {"good"}
    assert name not in booster_names()
    assert make_booster("good", Costs()).name == "good"
    opening = rf"the plug-in booster '{name}' of the package some-{name} \({value}\)"
    for _ in range(2):
        with pytest.raises(SettingsError, match=f"{opening} .*{message}"):
            make_booster(name, Costs())


def test_a_plugin_cannot_take_the_place_of_a_booster(plugins):
    plugins("some-rival", {"adaboost": "plugin_rival:Good"}, plugin_rival=GOOD)
    with pytest.warns(
        UserWarning, match=r"'adaboost' of the package some-rival \(.*\) is not used: there already is"
    ):
        assert booster_names().count("adaboost") == 1
    assert type(make_booster("adaboost", Costs())) is AdaBoost
    assert "plugin_rival" not in sys.modules


def test_two_plugins_of_one_name_are_both_told(plugins):
    for one in ("left", "right"):
        plugins(f"some-{one}", {"good": f"plugin_{one}:Good"}, **{f"plugin_{one}": GOOD})
    assert "good" not in booster_names()
    with pytest.raises(SettingsError, match=r"has the name of .*: uninstall one") as raised:
        make_booster("good", Costs())
    assert "some-left" in str(raised.value)
    assert "some-right" in str(raised.value)


def test_a_plugin_may_register_itself_as_well(plugins, monkeypatch):
    monkeypatch.setattr(registry, "_BOOSTERS", dict(registry._BOOSTERS))
    text = GOOD.replace("class Good", "from vjcascade.boosters import register\n\n@register\nclass Good")
    plugins("some-good", {"good": "plugin_good:Good"}, plugin_good=text)
    assert isinstance(make_booster("good", Costs()), Booster)
    registry._plugins.cache_clear()
    assert booster_names().count("good") == 1  # and no warning
