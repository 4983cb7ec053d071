"""Fixtures of the command line's tests: run a command, and make what it works on."""

from __future__ import annotations

from typing import NamedTuple

import builders
import numpy as np
import pytest
from easy_pictures import easy_positive, save, soft_noise

from vjcascade.cli.main import run as run_command


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Return `run(*words) -> Ran`: a command line, run in this process; it must not show a traceback."""

    def call(*words):
        code = run_command([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Ran(int(code), out, err)

    return call


@pytest.fixture
def easy(tmp_path):
    """Return a folder with the easy set of the cases: 60 positives in `pos`, 20 photos in `neg`."""
    rng = np.random.default_rng(1)
    save(tmp_path / "pos", [easy_positive(rng) for _ in range(60)])
    save(tmp_path / "neg", [soft_noise(rng) for _ in range(20)])
    return tmp_path


@pytest.fixture
def accept_all(tmp_path):
    """Return the file of a cascade for 24x24 windows that accepts every window with contrast."""
    path = tmp_path / "accept-all.xml"
    builders.accept_all(n_stages=1).save(path)
    return path
