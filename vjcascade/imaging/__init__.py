"""The only door to picture files, to OpenCV, and to resizing and drawing.

Arrays are uint8, `(height, width)` grey or `(height, width, 3)` RGB. Whatever else a file or an array holds
is brought there by three rules, none of which depends on the other pixels of the picture:

* depth: 16-bit values lose their low byte (`value >> 8`), floats in [0, 1] become `round(255 * value)`;
* alpha: transparent pixels are laid over mid grey, `round(a * value + (1 - a) * 128)` with `a` in [0, 1];
* grey: OpenCV's 8-bit definition, `(9798 R + 19235 G + 3735 B + 16384) >> 15`.
"""

from vjcascade.imaging._opencv import opencv
from vjcascade.imaging.arrays import draw_boxes, resize_crop, resize_exact, sample_affine, to_gray
from vjcascade.imaging.files import (
    IMAGE_SUFFIXES,
    MAX_PIXELS,
    as_jpeg,
    decoding_memory,
    image_header,
    image_size,
    read_cutout,
    read_gray,
    read_image,
    read_reduced,
    read_upright,
    through_jpeg,
    write_image,
)
from vjcascade.imaging.folders import DRAWN, FoundImages, find_images

__all__ = [
    "DRAWN",
    "IMAGE_SUFFIXES",
    "MAX_PIXELS",
    "FoundImages",
    "as_jpeg",
    "decoding_memory",
    "draw_boxes",
    "find_images",
    "image_header",
    "image_size",
    "opencv",
    "read_cutout",
    "read_gray",
    "read_image",
    "read_reduced",
    "read_upright",
    "resize_crop",
    "resize_exact",
    "sample_affine",
    "through_jpeg",
    "to_gray",
    "write_image",
]
