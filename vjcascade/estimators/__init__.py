"""Estimators for scikit-learn: the cost-sensitive boosters on tables of numbers, and Haar features of windows.

Examples
--------
>>> from sklearn.pipeline import make_pipeline
>>> make_pipeline(HaarTransformer(), CostBoostClassifier(costs=4))
Pipeline(steps=[('haartransformer', HaarTransformer()),
                ('costboostclassifier', CostBoostClassifier(costs=4))])
"""

from vjcascade.errors import MissingLibraryError

try:
    from sklearn.utils.validation import validate_data  # noqa: F401  there since 1.6
except ImportError as error:
    raise MissingLibraryError(
        "vjcascade's estimators need scikit-learn 1.6 or later: pip install 'scikit-learn>=1.6'"
    ) from error

from vjcascade.estimators.classifier import CostBoostClassifier
from vjcascade.estimators.haar import HaarTransformer

__all__ = ["CostBoostClassifier", "HaarTransformer"]
