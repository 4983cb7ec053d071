"""Fixtures of the exports' tests: a model of every kind, with its trial."""

from __future__ import annotations

import pytest
from export_models import KINDS, model_of, trial_of


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def model(kind):
    return model_of(kind)


@pytest.fixture
def trial(kind):
    return trial_of(kind)
