"""Reports on training runs and on comparisons: one HTML file each, without scripts, drawn from what they left."""
