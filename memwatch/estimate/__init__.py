"""`memwatch estimate`: what tokenizing an input makes and takes, before it starts.

sampling.py    reads pieces of the inputs and counts their tokens     -> Sampled, for each input
statistics.py  from pieces to a total with a 95 % interval            pure
needs.py       memory, disk and time of each way, and what fits       pure
outlook.py     reads machine and disk, and puts everything together   -> Outlook
report.py      the Outlook as text and as JSON
"""
