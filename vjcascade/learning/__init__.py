"""Weak learning on any samples, windows or rows of a table: boosting loop, search, trees.

It does not depend on cascades, photos or stages; `vjcascade.training`, `vjcascade.comparison` and
`vjcascade.estimators` use it.
"""

from vjcascade.learning.pool import PoolRun, boost_pool

__all__ = ["PoolRun", "boost_pool"]
