"""`memwatch estimate`: what tokenizing an input makes and takes, before it starts.

sampling.py       shares time and pieces among the inputs             -> Sampled, for each input
input_sampler.py  reads pieces of one input, whatever its kind
counter.py        counts their tokens, and measures what that takes
statistics.py     from pieces to a total with a 95 % interval         pure
needs.py          memory, disk and time of each way, and what fits    pure
outlook.py        reads machine and disk, puts everything together    -> Outlook
report.py         the Outlook as text and as JSON
"""
