"""How long a training run may still take, judged by the stages so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from vjcascade.training.events import RunBegun, StageDone


class TimeLeft:
    """An estimate: every stage to come takes as long as the slower of the last two.

    Stages come until the number asked for is there, or the target for the whole cascade is met, if each stage meets
    its own.

    Examples
    --------
    >>> TimeLeft().after_this_stage is None
    True
    """

    def __init__(self) -> None:
        self._settings: Mapping[str, Any] = {}
        self._seconds: list[float] = []
        self.after_this_stage: float | None = None

    def begin(self, event: RunBegun) -> None:
        """Take note of the targets."""
        self._settings = event.settings

    def add(self, event: StageDone) -> float:
        """Count a stage, and return how many seconds are left."""
        self._seconds.append(event.seconds)
        n_left = self._n_left(event)
        slower = max(self._seconds[-2:])
        self.after_this_stage = max(n_left - 1, 0) * slower
        return n_left * slower

    def in_stage(self, elapsed: float) -> float | None:
        """Return how many seconds are left when a stage has taken so many; None before the first is done."""
        if self.after_this_stage is None:
            return None
        return self.after_this_stage + max(max(self._seconds[-2:]) - elapsed, 0.0)

    def _n_left(self, event: StageDone) -> int:
        n_left = event.n_stages - event.record.stage
        reached = event.record.overall_false_alarm_rate
        target, rate = (self._settings.get(f"{kind}false_alarm_rate") for kind in ("target_", ""))
        if target is None or rate is None:
            return n_left
        return min(n_left, max(math.ceil(math.log(target / reached) / math.log(rate)), 0))
