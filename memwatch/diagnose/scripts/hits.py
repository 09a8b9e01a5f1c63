"""What can be found in a script, what it costs, and what to write instead."""

from dataclasses import dataclass
from enum import StrEnum

from memwatch.model.python_list import LEAST_BYTES_PER_TOKEN, MOST_BYTES_PER_TOKEN


class Pattern(StrEnum):
    TOKEN_LIST = "token-list"
    RECORD_LIST = "record-list"
    WHOLE_READ = "whole-read"
    WHOLE_LINES = "whole-lines"
    WHOLE_SPLIT = "whole-split"
    WHOLE_ENCODE = "whole-encode"
    WHOLE_TEXT = "whole-text"
    LIST_TO_ARRAY = "list-to-array"
    ARRAY_GROWTH = "array-growth"
    WHOLE_JSON = "whole-json"
    WHOLE_XML = "whole-xml"
    WHOLE_TABLE = "whole-table"
    WHOLE_PARQUET = "whole-parquet"
    WHOLE_ARRAY = "whole-array"
    DATASET_IN_MEMORY = "dataset-in-memory"
    WORKER_RESULTS = "worker-results"
    TRAINER = "trainer"


@dataclass(frozen=True, slots=True)
class NotFollowed:
    """A line of which the source does not tell how much it holds."""

    line: int
    source: str
    why: str


@dataclass(frozen=True, slots=True)
class Hit:
    pattern: Pattern
    line: int
    source: str  # the line itself, as it is written; to be made printable by whoever shows it
    holds: str
    instead: str


_LIST_COST = f"{LEAST_BYTES_PER_TOKEN:.0f} to {MOST_BYTES_PER_TOKEN:.0f} bytes"

# What it holds, and what to write instead.
WORDS = {
    Pattern.TOKEN_LIST: (
        f"every token of the input, as an 8-byte pointer to a 28-byte int: {_LIST_COST}, where 2 will do",
        "np.array(ids, dtype=np.uint16).tofile(out) for each chunk, with out = open('train.bin.tmp', 'wb')",
    ),
    Pattern.RECORD_LIST: (
        "every record of the input, each a Python object of its own",
        "work on each record in the loop, or yield it; keep none",
    ),
    Pattern.WHOLE_READ: (
        "the whole file: its size, and up to 4 times that as a str",
        "while chunk := f.read(1 << 20): ...",
    ),
    Pattern.WHOLE_LINES: (
        "every line of the file, each a str of its own: its size and some 60 bytes a line",
        "for line in f: ...",
    ),
    Pattern.WHOLE_SPLIT: (
        "the whole text once more, in pieces: its size and some 60 bytes a piece",
        "for line in f: ...; or split each chunk as it comes",
    ),
    Pattern.WHOLE_ENCODE: (
        f"every token of the whole text at once: {_LIST_COST} each in a list, beside the text itself",
        "encode a chunk at a time, and append it to the file: memwatch run tokenize does that",
    ),
    Pattern.WHOLE_TEXT: (
        "the whole text, which grows by a copy at every turn",
        "write each piece to the file as it comes",
    ),
    Pattern.LIST_TO_ARRAY: (
        "everything twice: the list, and the array made of it",
        "write each chunk's array to the file in the loop; then there is no list to convert",
    ),
    Pattern.ARRAY_GROWTH: (
        "everything, copied again at every turn of the loop",
        "append each piece to a file (tofile), or fill an np.memmap",
    ),
    Pattern.WHOLE_JSON: (
        "the whole document as Python objects: 5 to 10 times the size of the file",
        "JSON lines: for line in f: record = json.loads(line); or ijson.items(f, 'item')",
    ),
    Pattern.WHOLE_XML: (
        "the whole document as Python objects: 5 to 10 times the size of the file",
        "for event, element in ET.iterparse(path): ...; element.clear()",
    ),
    Pattern.WHOLE_TABLE: (
        "the whole table; text columns take several times their size in the file",
        "for part in pd.read_csv(path, chunksize=100_000): ...; with polars pl.scan_csv(path).sink_parquet(out)",
    ),
    Pattern.WHOLE_PARQUET: (
        "the whole table, unpacked: several times the size of the file",
        "for batch in pq.ParquetFile(path).iter_batches(columns=['text']): ...",
    ),
    Pattern.WHOLE_ARRAY: (
        "the whole array",
        "np.memmap(path, dtype=np.uint16, mode='r'), or np.load(path, mmap_mode='r')",
    ),
    Pattern.DATASET_IN_MEMORY: (
        "the whole dataset, which datasets would otherwise map from disk",
        "leave it on disk (no keep_in_memory, no to_pandas, no list), and go through it with for",
    ),
    Pattern.WORKER_RESULTS: (
        "what every worker returns, until the last one is done",
        "for result in pool.imap(work, inputs, chunksize=16): write it to the file, and keep none",
    ),
    Pattern.TRAINER: (
        "every sentence of the corpus, several times over, while it trains",
        "input_sentence_size=10_000_000, shuffle_input_sentence=True: a sample gives the same vocabulary",
    ),
}
