"""Every test finds model files anew."""

import pytest

from vjcascade.compat import data


@pytest.fixture(autouse=True)
def nothing_found_before(monkeypatch, tmp_path):
    monkeypatch.setattr(data, "_chosen", {})
    monkeypatch.setattr(data, "_seen", {})
    monkeypatch.setenv("VJCASCADE_DATA", str(tmp_path / "data-of-the-user"))
