"""Calls of libraries that hold everything: readers of pandas, numpy, json and others, pools, lists of streams."""

import ast
import re

from memwatch.diagnose.scripts.expressions import dotted, has_encoder, is_bounded, is_small, keyword_of, names_in
from memwatch.diagnose.scripts.hits import Pattern
from memwatch.diagnose.scripts.kinds import HELD, Kind, Names, is_whole_json, kind_of
from memwatch.diagnose.scripts.reading_calls import FINDERS, OBJECTS, OF_PARTS, PARQUET, PARSERS, TABLES, is_in_parts

ARRAYS = {"np.array", "np.asarray", "torch.tensor", "array.array", "np.fromiter"}
# What torch.load reads is a model far more often than data.
MODEL = re.compile(r"(?i)ckpt|checkpoint|model|weights?|state|optim|embedding|resume|best|last|pretrained|lora")
_FROM_DATASET = {"to_pandas", "to_list", "to_dict"}
_FROM_TABLE = {"tolist", "to_list", "to_dict", "to_pylist", "to_dicts"}
_FRAMES = re.compile(r"(?:pd|pl)\.DataFrame|(?:\w+\.)?Dataset\.from_(?:list|dict|pandas|generator)")
_XML = re.compile(r"(?:ET|etree|ElementTree|minidom|xml\.\w+\.\w+)\.parse")
_WHOLE_ARROW = {"to_table", "read_all", "toPandas"}
_LAZY = re.compile(r"pl\.scan_\w+|(?:dd|dask\.dataframe)\.read_\w+|spark\.read")


def pattern_of_call(node: ast.Call, names: Names, is_one_file: bool) -> Pattern | None:
    """What the call holds; None if it holds little, or that cannot be told. `is_one_file`: of many, one at a time."""
    name = dotted(node.func)
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    owner = kind_of(node.func.value, names) if isinstance(node.func, ast.Attribute) else None
    if (method in ("split", "splitlines") and owner == Kind.WHOLE) or (
        name in FINDERS and _takes(node, Kind.WHOLE, names)
    ):
        return Pattern.WHOLE_SPLIT
    if name in ARRAYS | OF_PARTS and (_takes(node, Kind.TOKENS, names) or _takes(node, Kind.STREAM, names)):
        return Pattern.LIST_TO_ARRAY  # np.array(rows), pd.concat(pd.read_csv(path) for path in paths)
    if _gathers_results(node, name, names):
        return Pattern.WORKER_RESULTS
    if method == "join" and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant):
        return (
            Pattern.WHOLE_TEXT if any(kind_of(each, names) in (Kind.FILE, Kind.STREAM) for each in node.args) else None
        )
    if method in ("map", "starmap") and owner == Kind.POOL and not all(map(is_bounded, node.args[1:2])):
        return Pattern.WORKER_RESULTS
    if name.endswith(("SentencePieceTrainer.train", "SentencePieceTrainer.Train")):
        return Pattern.TRAINER if _trains_on_all(node) else None
    if method == "fetchall" or (method in _FROM_TABLE and owner == Kind.TABLE):
        return Pattern.RECORD_LIST
    if name in ("list", "tuple", "set", "sorted"):
        return _listed(node, names)
    if name == "sum" and len(node.args) == 2 and has_encoder(node.args[0]):
        return Pattern.TOKEN_LIST  # sum((encode(doc) for doc in docs), [])
    if _is_dataset_in_memory(node, names, owner):
        return Pattern.DATASET_IN_MEMORY
    return None if is_one_file else _whole_load(node, name, method, names)


def _gathers_results(node: ast.Call, name: str, names: Names) -> bool:
    """joblib, tqdm's process_map, Ray, Dask: a list of what all workers return."""
    if isinstance(node.func, ast.Call):
        over = [each.generators[0].iter for each in node.args if isinstance(each, ast.GeneratorExp | ast.ListComp)]
        few = any(is_bounded(each) or kind_of(each, names) == Kind.FEW for each in over)
        return dotted(node.func.func).rpartition(".")[2] == "Parallel" and not few
    if name == "ray.get":
        return any(isinstance(each, ast.ListComp | ast.Name) and not is_bounded(each) for each in node.args)
    if name.endswith("asyncio.gather") or name == "gather":
        stars = [each.value for each in node.args if isinstance(each, ast.Starred)]
        return any(not isinstance(each, ast.Subscript) for each in stars)  # gather(*tasks[a:b]) waits for a part
    return name in ("process_map", "thread_map", "dask.compute") and not all(map(is_bounded, node.args[1:2]))


def _trains_on_all(node: ast.Call) -> bool:
    """SentencePiece loads its whole input, however it is given, unless it is told how many sentences to take."""
    flags = "".join(
        each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )
    if keyword_of(node, "input_sentence_size") is not None or "--input_sentence_size" in flags:
        return False
    return any(keyword_of(node, name) is not None for name in ("input", "sentence_iterator")) or "--input=" in flags


def _whole_load(node: ast.Call, name: str, method: str, names: Names) -> Pattern | None:
    """A file, read into memory by one call."""
    if is_whole_json(node, names) or (name in PARSERS and _takes(node, Kind.WHOLE, names)):
        return Pattern.WHOLE_JSON
    if PARQUET.fullmatch(name) or method in _WHOLE_ARROW:
        return Pattern.WHOLE_PARQUET
    if is_small(node):
        return None
    if _XML.fullmatch(name):
        return Pattern.WHOLE_XML
    if name in ("pd.json_normalize", "json_normalize", "SeqIO.to_dict"):
        return Pattern.WHOLE_TABLE if any(kind_of(each, names) in (*HELD, Kind.STREAM) for each in node.args) else None
    if TABLES.fullmatch(name):
        return None if is_in_parts(node) else Pattern.WHOLE_TABLE
    if method in ("collect", "compute") and any(
        _LAZY.match(dotted(each)) for each in ast.walk(node) if isinstance(each, ast.Attribute)
    ):
        return Pattern.WHOLE_TABLE  # pl.scan_csv(path).filter(...).collect()
    return Pattern.WHOLE_ARRAY if OBJECTS.fullmatch(name) or _is_whole_array(node, name) else None


def _listed(node: ast.Call, names: Names) -> Pattern | None:
    """list(f), sorted(rows)."""
    if _takes(node, Kind.FILE, names):
        return Pattern.WHOLE_LINES
    if _takes(node, Kind.STREAM, names):
        return Pattern.RECORD_LIST
    chained = [each for argument in node.args for each in ast.walk(argument) if isinstance(each, ast.GeneratorExp)]
    if any(has_encoder(each.elt) and not is_bounded(each.generators[0].iter) for each in chained):
        return Pattern.TOKEN_LIST  # list(chain.from_iterable(encode(doc) for doc in docs))
    is_dataset = dotted(node.func) == "list" and _takes(node, Kind.DATASET, names)
    return Pattern.DATASET_IN_MEMORY if is_dataset else None


def _is_whole_array(node: ast.Call, name: str) -> bool:
    """np.loadtxt and np.fromfile; np.load(path) without mmap_mode; torch.load of data, and not of a model."""
    if name in ("np.loadtxt", "np.genfromtxt") or (name == "np.fromfile" and keyword_of(node, "count") is None):
        return True
    if name == "np.load":
        return keyword_of(node, "mmap_mode") is None and len(node.args) < 2
    if name != "torch.load" or not node.args or keyword_of(node, "mmap") is not None:
        return False
    words = [each.value for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)]
    return bool(words) and not any(MODEL.search(str(word)) for word in (*words, *names_in(node.args[0])))


def _is_dataset_in_memory(node: ast.Call, names: Names, owner: Kind | None) -> bool:
    name = dotted(node.func)
    method = name.rpartition(".")[2]
    kept = keyword_of(node, "keep_in_memory")
    if isinstance(kept, ast.Constant) and kept.value is True:
        return method == "load_dataset" or owner == Kind.DATASET
    if method in _FROM_DATASET:
        return owner == Kind.DATASET
    if method == "join" and owner is None:
        return _takes(node, Kind.DATASET, names)
    if _FRAMES.fullmatch(name) is None:
        return False
    # ds[a:b] is a part, however large the dataset is.
    whole = [each for each in node.args if not (isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Slice))]
    return any(kind_of(each, names) in (Kind.DATASET, Kind.STREAM) for each in whole)


def _takes(node: ast.Call, kind: Kind, names: Names) -> bool:
    return any(kind_of(each, names) == kind for each in node.args)
