"""The report on a training run: one HTML file without scripts, drawn from the model and what the run left beside it."""
