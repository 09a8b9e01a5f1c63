"""Collects evidence: from journals, records, system logs and the machine as it is. What it means is told in core."""
