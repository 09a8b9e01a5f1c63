"""Recorded runs of jobs from start to end, memory and progress, on which the whole-run forecast is scored."""
