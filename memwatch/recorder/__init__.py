"""The recorder: a small process that records the memory of the whole machine, to explain a later freeze.

It takes a sample every second and writes one every few seconds, to save disk; in trouble it writes every sample, and
those that led up to it. It signals no process. recording.py drives it, journal/machine_record.py
keeps what it saw, journal/record_files.py reads it. It imports neither Textual nor numpy nor click.
"""
