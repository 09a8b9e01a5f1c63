"""As fast as one core can go: gigatoken over blocks of 1 MiB, with nothing checked and nothing written.

python bare_loop.py RANKS INPUT [OUTPUT]

With OUTPUT it writes the tokens, to see whether they are the right ones; that is not timed.
"""

import sys

import numpy as np
from gigatoken import Tokenizer

tokenizer = Tokenizer.from_tiktoken(sys.argv[1], pretokenizer="gpt2", special_tokens={})
with open(sys.argv[2], "rb") as f:
    if len(sys.argv) == 3:
        while block := f.read(1 << 20):
            tokenizer.encode(block)
    else:
        with open(sys.argv[3], "wb") as output:
            while block := f.read(1 << 20):
                np.asarray(tokenizer.encode(block)).astype(np.uint16).tofile(output)
