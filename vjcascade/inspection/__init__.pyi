from .inspecting import Inspection as Inspection, inspect_model as inspect_model
from .oddities import Oddity as Oddity
from .picture_scan import PictureScan as PictureScan, scan_pictures as scan_pictures
from .stage_facts import StageFacts as StageFacts

__all__ = ["Inspection", "Oddity", "PictureScan", "StageFacts", "inspect_model", "scan_pictures"]
