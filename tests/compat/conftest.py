"""Every test finds model files anew."""

import pytest

from vjcascade.compat import data


@pytest.fixture(autouse=True)
def nothing_found_before(monkeypatch):
    monkeypatch.setattr(data, "_chosen", {})
    monkeypatch.setattr(data, "_seen", {})
