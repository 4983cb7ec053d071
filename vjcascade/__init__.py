"""Train Viola-Jones cascades from image folders, and detect with them.

Examples
--------
>>> import vjcascade
>>> cascade = vjcascade.Cascade(vjcascade.Size(24, 24))
>>> cascade.n_stages
0
"""

from importlib.util import find_spec

import lazy_loader

__version__ = "0.2.0"

_ESTIMATORS = frozenset({"CostBoostClassifier", "HaarTransformer", "estimators"})

__getattr__, _all_names, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    """List what is available: estimators need scikit-learn, and `help` and completion ask for every name."""
    hidden = frozenset() if find_spec("sklearn") else _ESTIMATORS
    return [name for name in _all_names() if name not in hidden]
