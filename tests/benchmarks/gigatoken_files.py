"""gigatoken's `encode_files`: all cores, and all tokens in memory until they are written.

python gigatoken_files.py RANKS INPUT OUTPUT
"""

import sys

import awkward
import numpy as np
from gigatoken import Tokenizer

tokenizer = Tokenizer.from_tiktoken(sys.argv[1], pretokenizer="gpt2", special_tokens={})
tokens = tokenizer.encode_files([sys.argv[2]])
awkward.to_numpy(awkward.flatten(tokens)).astype(np.uint16).tofile(sys.argv[3])
