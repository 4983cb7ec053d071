"""A page in the browser, served to this machine alone: draw boxes, review what a model does, train it, try it live."""
