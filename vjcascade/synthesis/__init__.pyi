from .alterations import Alteration as Alteration, Alterations as Alterations, Inverted as Inverted
from .originals import Original as Original, Originals as Originals, read_originals as read_originals
from .samples import SampleMaker as SampleMaker, write_samples as write_samples
from .scenes import SceneMaker as SceneMaker, write_scenes as write_scenes

__all__ = [
    "Alteration",
    "Alterations",
    "Inverted",
    "Original",
    "Originals",
    "SampleMaker",
    "SceneMaker",
    "read_originals",
    "write_samples",
    "write_scenes",
]
