"""Reads Python source, and never runs it: which lines hold everything in memory."""
