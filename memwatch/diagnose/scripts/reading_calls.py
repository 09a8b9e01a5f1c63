"""Calls that open, read, list or join data, by name: what is known of libraries, and nothing of the script."""

import ast
import re

from memwatch.diagnose.scripts.expressions import keyword_of

TABLES = re.compile(
    r"(?:pd|pl)\.read_(?:csv|table|sql|sql_query|sql_table|json|ndjson|pickle|feather|excel|fwf|ipc|avro|xml|html|"
    r"hdf|stata|sas|spss|clipboard)|(?:feather|pyarrow\.feather)\.read_(?:table|feather)|cudf\.read_\w+|sklearn\.datasets\.load_files"
)
PARQUET = re.compile(
    r"(?:pd|pl)\.read_(?:parquet|orc)|(?:pq|pyarrow\.parquet)\.read_(?:table|pandas)|pa\.csv\.read_csv|fastparquet\.\w+"
)
# An array or a model's objects, read at once.
OBJECTS = re.compile(
    r"joblib\.load|(?:scipy\.io|sio)\.(?:loadmat|mmread)|(?:KeyedVectors|Word2VecKeyedVectors)\.load_word2vec_format|"
    r"(?:\w+\.)*loadarff|laspy\.read|(?:gpd|geopandas)\.read_\w+|(?:sc|scanpy|ad|anndata)\.read(?:_\w+)?|"
    r"(?:o3d|open3d)\.io\.read_(?!image)\w+|xr\.load_\w+|mne\.io\.read_\w+"
)
ARRAY_LOADERS = {"np.load", "np.loadtxt", "np.genfromtxt", "np.fromfile"}
LOADS_ONE = re.compile(
    r"(?:im|cv)?(?:load|read)_(?!csv|json|sql)\w+|imread|load_?img|load_?image"
)  # of one file, by its name
_IN_PARTS = ("chunksize", "iterator", "nrows", "n_rows")
LISTINGS = {"listdir", "glob", "iglob", "rglob", "walk", "scandir", "iterdir"}
OF_PARTS = frozenset(
    "np.concatenate np.append np.hstack np.vstack np.stack torch.cat torch.stack pd.concat pl.concat".split()  # noqa: SIM905
)
PARSERS = {f"{module}.loads" for module in ("json", "ujson", "orjson", "simplejson", "rapidjson", "pickle")}
LOADERS = {f"{module}.load" for module in ("json", "ujson", "simplejson", "rapidjson", "pickle", "cPickle", "dill")}

OPENERS = {"open", "smart_open", "xopen", "zopen", "urlopen", "file_uploader"}  # and whatever ends in .open
# One record after another, of a file or a service.
STREAMS = re.compile(
    r"(?:^|\.)(?:SeqIO|SimpleFastaParser|FastqGeneralIterator|AlignIO|SearchIO)\.parse$|ijson\.items$|"
    r"(?:srsly|jsonlines)\.(?:read_jsonl|open)$|(?:^|\.)(?:read_jsonl|iter_jsonl|iter_lines|iter_records|stream_\w+)$|"
    r"(?:^|\.)[A-Z]\w*(?:Supplier|Iterator|Reader)$"  # of molecules, of web archives, of pages
)
FINDERS = {"re.findall", "re.split", "regex.findall", "regex.split"}
READERS = {"read", "readlines", "read_text", "read_bytes"}


def is_in_parts(node: ast.Call) -> bool:
    """pd.read_csv(path, chunksize=...) returns one part after another; nrows limits it."""
    return any(keyword_of(node, name) is not None for name in _IN_PARTS)


def is_loader(name: str) -> bool:
    return bool(
        TABLES.fullmatch(name) or PARQUET.fullmatch(name) or OBJECTS.fullmatch(name) or name in LOADERS
        or name in ARRAY_LOADERS or name == "torch.load"
    )  # fmt: skip
