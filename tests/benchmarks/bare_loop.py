"""As fast as one core can go: gigatoken over blocks of 1 MiB, with nothing checked and nothing written.

python bare_loop.py RANKS INPUT
"""

import sys

from gigatoken import Tokenizer

tokenizer = Tokenizer.from_tiktoken(sys.argv[1], pretokenizer="gpt2", special_tokens={})
with open(sys.argv[2], "rb") as f:
    while block := f.read(1 << 20):
        tokenizer.encode(block)
