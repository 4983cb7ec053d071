from .checking import DataCheck as DataCheck, check as check
from .findings import Finding as Finding, Item as Item, Level as Level, Topic as Topic

__all__ = ["DataCheck", "Finding", "Item", "Level", "Topic", "check"]
