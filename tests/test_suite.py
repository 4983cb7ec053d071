"""How the suite runs: on all processors if it is run as a whole, and never on more than that."""

from pathlib import Path
from types import SimpleNamespace

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
SOURCES = pytest.Config.ArgsSource


@pytest.fixture
def n_workers(pytestconfig, monkeypatch):
    """Return `n_workers(source, **options)`: how many workers a run on two processors gets."""
    plugins = pytestconfig.pluginmanager.get_plugins()
    conftest = next(plugin for plugin in plugins if getattr(plugin, "__file__", "") == str(CONFTEST))
    monkeypatch.setattr(conftest, "default_threads", lambda: 2)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)

    def begin(source, **given):
        option = SimpleNamespace(**{"numprocesses": None, "usepdb": False, **given})
        config = SimpleNamespace(
            args_source=source,
            option=option,
            getoption=lambda name, default=None: getattr(option, name, default),
        )
        conftest.pytest_cmdline_main(config)
        return option.numprocesses

    return begin


def test_the_whole_suite_is_shared_out(n_workers):
    assert n_workers(SOURCES.TESTPATHS) == 2


def test_a_worker_has_no_workers(n_workers, monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert n_workers(SOURCES.TESTPATHS) is None


def test_what_is_named_runs_in_one_process(n_workers):
    assert n_workers(SOURCES.ARGS) is None


@pytest.mark.parametrize("given", [{"numprocesses": 0}, {"numprocesses": 7}])
def test_the_command_line_decides(n_workers, given):
    assert n_workers(SOURCES.TESTPATHS, **given) == given["numprocesses"]


def test_a_debugger_has_the_terminal(n_workers):
    assert n_workers(SOURCES.TESTPATHS, usepdb=True) is None
