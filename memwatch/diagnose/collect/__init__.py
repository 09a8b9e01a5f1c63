"""Collect: reads journals, records, system logs and the machine as it is into Evidence."""
