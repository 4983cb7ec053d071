"""A page in the browser, on this machine only: draw boxes, review a model's errors, train, and try models live."""
