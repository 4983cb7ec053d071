"""Lists of pictures and of boxes in pictures: one file per format."""
