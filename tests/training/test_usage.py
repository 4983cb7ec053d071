"""Time and memory of a run."""

import pytest

from vjcascade.training import usage
from vjcascade.training.usage import Stopwatch, resident_memory


def test_memory_that_is_taken_is_seen():
    before = resident_memory()
    if before is None:
        pytest.skip("the system does not tell")
    taken = bytearray(b"x" * 50_000_000)
    assert resident_memory() - before > 40_000_000
    del taken


def test_where_the_system_tells_only_the_most(monkeypatch, tmp_path):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(usage, "_STATUS", tmp_path / "none")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resident_memory() in {most, 1024 * most}


def test_parts_add_up_even_if_one_fails(monkeypatch):
    now = iter([-1.0, 0.0, 2.0, 10.0, 13.0, 20.0, 21.0, 24.0])
    monkeypatch.setattr(usage.time, "perf_counter", lambda: next(now))
    clock = Stopwatch()
    with clock.part("mining"):
        pass
    with pytest.raises(KeyError), clock.part("boosting"):
        raise KeyError
    with clock.part("mining"):
        pass
    assert clock.seconds == {"mining": 3.0, "boosting": 3.0}
    assert clock.elapsed == 25.0
    assert clock.memory is None or clock.memory > 2**20
