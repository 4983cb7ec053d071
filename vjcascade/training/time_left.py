"""How long a training run may still take, judged by the stages so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from vjcascade.training.events import RunBegun, StageDone


class TimeLeft:
    """An estimate: stages take longer in proportion to their number, from the slower of the last two on.

    That is how the weak classifiers of usual cascades grow (of our faces: 8, 17, 30, 41, 46, 52, 71, 88, ...),
    up to the most that a stage may have. The first stage tells nothing, as it may have compiled kernels. Stages come
    until the number asked for is there, or the target for the whole cascade is met, if each stage meets its own.

    Examples
    --------
    >>> TimeLeft().after_this_stage is None
    True
    """

    def __init__(self) -> None:
        self._settings: Mapping[str, Any] = {}
        self._seconds: list[float] = []
        self._next: list[float] = []
        self.after_this_stage: float | None = None

    def begin(self, event: RunBegun) -> None:
        """Take note of the targets."""
        self._settings = event.settings

    def add(self, event: StageDone) -> float | None:
        """Count a stage, and return how many seconds are left; None after the first, unless it is the last."""
        self._seconds.append(event.seconds)
        stage, n_left = event.record.stage, self._n_left(event)
        if len(self._seconds) == 1 and n_left:
            return None
        slower = max(self._seconds[1:][-2:], default=0.0)
        most = max(self._settings.get("max_weak", math.inf) / max(event.record.n_weak, 1), 1.0)
        coming = range(stage + 1, stage + 1 + n_left)
        self._next = [slower * min(number / stage, most) for number in coming]
        self.after_this_stage = sum(self._next[1:])
        return sum(self._next)

    def in_stage(self, elapsed: float) -> float | None:
        """Return how many seconds are left when a stage has taken so many; None before two are done."""
        if self.after_this_stage is None:
            return None
        return self.after_this_stage + max(sum(self._next[:1]) - elapsed, 0.0)

    def _n_left(self, event: StageDone) -> int:
        n_left = event.n_stages - event.record.stage
        reached = event.record.overall_false_alarm_rate
        target, rate = (self._settings.get(f"{kind}false_alarm_rate") for kind in ("target_", ""))
        if target is None or rate is None:
            return n_left
        return min(n_left, max(math.ceil(math.log(target / reached) / math.log(rate)), 0))
