"""The recorder: a small process that records the memory of the whole machine, to explain a later freeze.

It looks once a second, which costs next to nothing, and writes every few seconds, which costs a little; in trouble it
writes every look, and those that led up to it. It acts on nobody. recording.py drives it, journal/machine_record.py
keeps what it saw, journal/record_files.py reads it. It imports neither Textual nor numpy nor click.
"""
