"""Pictures for training: found, read, checked, cut to windows, held out."""
