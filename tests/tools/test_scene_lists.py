"""Scenes for testing, for development and for training are never mixed."""

from __future__ import annotations

from pathlib import Path

import build_models
import pytest
import scene_lists

from vjcascade import Cascade
from vjcascade.cascade import OPERATING_POINT

DATA = Path(__file__).parents[3] / "shared" / "data"
MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.xml"))

TRAINING = tuple(
    pattern for recipe in build_models.RECIPES.values() for pattern in recipe.positives + recipe.negatives
)
"""What the shipped models are trained on."""


def test_no_scene_is_in_two_lists():
    test, development = (scene_lists.read_list(name) for name in ("test", "development"))
    assert len(test) > 1000
    assert len(development) > 140
    assert not test.keys() & development.keys()
    assert not set(test.values()) & set(development.values())


@pytest.mark.data
@pytest.mark.parametrize("name", scene_lists.SETS)
def test_lists_are_those_of_the_archives(name):
    if not DATA.is_dir():
        pytest.skip("needs the archives of real pictures")
    assert scene_lists.read_list(name) == dict(scene_lists.pictures(DATA, scene_lists.SETS[name]))


@pytest.mark.data
def test_no_test_scene_was_trained_on():
    if not DATA.is_dir():
        pytest.skip("needs the archives of real pictures")
    test, development = (scene_lists.read_list(name) for name in ("test", "development"))
    trained_on = dict(scene_lists.pictures(DATA, TRAINING))
    assert len(trained_on) > 10_000
    assert not trained_on.keys() & test.keys()
    assert not trained_on.keys() & development.keys()


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_no_model_was_tuned_on_test_scenes(path):
    """A model that was tuned, or validated while it was trained, says so; none of these was."""
    metadata = Cascade.load(path).metadata
    assert OPERATING_POINT not in metadata
    assert "scenes_sha256" not in metadata["data"]
