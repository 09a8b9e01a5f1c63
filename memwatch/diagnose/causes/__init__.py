"""Causes: each a function from evidence to findings."""
