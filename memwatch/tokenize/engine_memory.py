"""What an engine takes with a vocabulary file, beyond what plan.py allows for tiktoken's encodings."""

import os

from memwatch.model.units import KIB
from memwatch.tokenize.engines import Engine
from memwatch.tokenize.plan import WORST_GROWTH_BYTES, ReadingMemory
from memwatch.tokenize.settings import EngineName
from memwatch.tokenize.vocabulary import Encoding

# Measured (docs/MEASUREMENTS.md): tokenizers takes 4 to 10 times the size of a tokenizer.json.
TOKENIZERS_A_FILE_BYTE = 10
# Of memory for a byte of a document, while it is encoded as a whole, measured with prose, code and Japanese.
BYTES_A_DOCUMENT_BYTE = {"gigatoken": 40, "tokenizers": 200, "sentencepiece": 80, "tiktoken": 40}

# plan.py always leaves room for this much.
LEAST_DOCUMENT_BYTES = 128 * KIB


def with_engine_memory(reading: ReadingMemory, encoding: Encoding, engine: EngineName) -> ReadingMemory:
    """What a worker needs to read its input and to load its engine."""
    if encoding.kind != "tokenizer.json" or engine == "gigatoken" or encoding.path is None:
        return reading
    extra = TOKENIZERS_A_FILE_BYTE * os.path.getsize(encoding.path)
    return reading._replace(worker_bytes=reading.worker_bytes + extra)


def may_grow(engine: Engine, used_bytes: int, budget_bytes: int) -> bool:
    """May a worker that has used so much encode another block, or must its engine be renewed first?"""
    return used_bytes + max(engine.next_growth_bytes - WORST_GROWTH_BYTES, 0) <= budget_bytes


def longest_document_bytes(encoding: Encoding, engine: str, free_bytes: int) -> int | None:
    """The longest document that a worker with so much free memory can encode; None if documents are cut."""
    if encoding.pretokenizer is not None:
        return None
    return max(free_bytes // BYTES_A_DOCUMENT_BYTE[engine], LEAST_DOCUMENT_BYTES)
