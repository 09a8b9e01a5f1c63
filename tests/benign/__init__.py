"""Healthy jobs: real programs that fit. They run bare to record their memory, and under memwatch, which lets them be.

jobs.py        the collection: name, command line, what it needs, the cages it fits
work.py        what the jobs in Python do
inputs.py      the files that the jobs read
record.py      runs a job bare in a cage and records its memory: curves.txt.xz
curves.py      reads the recorded curves, for simulations
run.py         runs jobs under memwatch and reports who was stopped, paused or warned about
"""
