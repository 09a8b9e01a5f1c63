"""gigatoken over documents, one call for each: what two cores can do at most with jsonl and parquet.

python bare_documents.py RANKS DOCUMENTS OUTPUT

DOCUMENTS holds them one after the other, and DOCUMENTS.lengths their sizes in bytes (int64).
"""

import sys

import numpy as np
from gigatoken import Tokenizer

tokenizer = Tokenizer.from_tiktoken(sys.argv[1], pretokenizer="gpt2", special_tokens={})
end_of_text = np.array([50256], np.uint16)
with open(sys.argv[2], "rb") as f, open(sys.argv[3], "wb") as output:
    for length in np.fromfile(sys.argv[2] + ".lengths", np.int64).tolist():
        np.asarray(tokenizer.encode(f.read(length))).astype(np.uint16).tofile(output)
        end_of_text.tofile(output)
