"""What an expression is, as far as its source shows: a file, a whole text, a dataset. Anything else is None."""

import ast
import re
from collections.abc import Collection, Mapping
from enum import Enum, auto

from memwatch.diagnose.scripts.expressions import (
    WRAPPERS,
    dotted,
    has_encoder,
    is_bounded,
    is_empty,
    is_encoder,
    is_for_writing,
    is_literal,
    is_minus_one,
    is_plain,
    is_slice_of_few,
    is_small,
    keyword_of,
    names_in,
)
from memwatch.diagnose.scripts.reading_calls import (
    ARRAY_LOADERS,
    FINDERS,
    LISTINGS,
    LOADERS,
    LOADS_ONE,
    OF_PARTS,
    OPENERS,
    PARQUET,
    PARSERS,
    READERS,
    STREAMS,
    TABLES,
    is_in_parts,
    is_loader,
)


class Kind(Enum):
    FILE = auto()
    WHOLE = auto()  # a whole file's text or bytes, or pieces of it
    TOKENS = auto()  # a list with everything in it
    DATASET = auto()
    ENCODED = auto()  # the tokens of one text
    EMPTY = auto()  # a list that waits to be filled; a few things may be in it already
    EMPTY_TEXT = auto()
    EMPTY_MAP = auto()  # a dict that waits to be filled
    EMPTY_LISTS = auto()  # a dict whose values are lists
    STREAM = auto()  # one piece of the input after another: csv rows, an own generator, results of workers
    TABLE = auto()  # a whole data frame, or a column of it
    FILES = auto()  # names of many files: a folder's listing
    ONE_FILE = auto()  # what one of many files holds, or something made of it
    FEW = auto()  # a number of things that is written there
    POOL = auto()  # of multiprocessing: its map() returns a list
    EXECUTOR = auto()  # of concurrent.futures: its map() returns an iterator


Names = Mapping[str, Kind]
FEW = 3
DATA = (Kind.FILE, Kind.WHOLE, Kind.DATASET, Kind.STREAM, Kind.TABLE)  # a loop over one of these goes through the input
HELD = (Kind.WHOLE, Kind.TOKENS, Kind.TABLE)  # all of it, in memory
_STANDARD_INPUT = {"sys.stdin", "sys.stdin.buffer"}
# What a method returns is still all of the data, unless it counts, looks for something, or picks a few.
_REDUCING = frozenset(
    """
    head tail sum mean median std var min max count nunique unique describe info value_counts size agg corr any all
    item to_csv to_parquet to_json to_excel to_pickle to_sql to_feather find rfind index rindex startswith endswith
    isdigit isalpha isspace pop append extend insert remove sort update clear save_to_disk push_to_hub to_dict to_list
    to_pandas nlargest nsmallest first last isnull isna write close keys
    """.split()  # noqa: SIM905
)
_LISTS_OF_TABLE = {"to_dict", "to_list", "to_pylist", "to_dicts", "tolist", "unique"}
_ABOUT_DATA = {"shape", "columns", "dtypes", "dtype", "size", "empty", "name", "names", "features", "column_names",
               "num_rows", "ndim", "nbytes", "schema", "info", "fieldnames", "line_num", "header",
               "metadata"}  # fmt: skip
# What these return, whatever they are given.
_RETURNED = (
    dict.fromkeys(LISTINGS, Kind.FILES)
    | dict.fromkeys(("iterparse", "VideoCapture", "as_completed", "cursor"), Kind.STREAM)
    | dict.fromkeys(("Pool", "ThreadPool"), Kind.POOL)
    | dict.fromkeys(("ProcessPoolExecutor", "ThreadPoolExecutor", "Executor"), Kind.EXECUTOR)
    | {"fetchall": Kind.TOKENS}
)
_SAME_PIECES = {"tqdm", "iter", "reversed", "auto_tqdm"}  # what goes through them stays what it is
_IN_MEMORY = {"StringIO", "BytesIO"}
_SAME_TEXT = {"decompress", "decode", "sub", "normalize", "unescape", "fix_text", "translate"}


def kind_of(node: ast.expr, names: Names) -> Kind | None:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        return Kind.FILE if dotted(node) in _STANDARD_INPUT else names.get(dotted(node)) or _kind_of_part(node, names)
    if isinstance(node, ast.Dict) and any(is_empty(each) for each in node.values):
        return Kind.EMPTY_LISTS
    if isinstance(node, ast.Dict) and not node.keys:
        return Kind.EMPTY_MAP
    if isinstance(node, ast.NamedExpr):
        return kind_of(node.value, names)
    if isinstance(node, ast.List | ast.Tuple) and any(kind_of(each, names) in HELD for each in node.elts):
        return Kind.TOKENS  # [df1, df2]
    if isinstance(node, ast.List | ast.Tuple | ast.Dict) and is_literal(node):
        return Kind.FEW
    if isinstance(node, ast.List) and len(node.elts) <= FEW:
        return Kind.EMPTY
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Kind.FEW  # also under a name: range(examples), where examples = 500
    if isinstance(node, ast.Constant) and node.value in ("", b""):
        return Kind.EMPTY_TEXT
    if isinstance(node, ast.Subscript):
        inner = kind_of(node.value, names)
        # One line of many, or one record, is not the whole; what a document has under a name may be most of it.
        is_part = (
            inner in (Kind.WHOLE, Kind.TOKENS) and not isinstance(node.slice, ast.Slice) and not _is_name(node.slice)
        )
        return None if is_part else inner
    if is_room_for(node, names):
        return Kind.TOKENS
    if isinstance(node, ast.BinOp):
        kinds = {kind_of(node.left, names), kind_of(node.right, names)}
        return next((kind for kind in (Kind.WHOLE, Kind.TOKENS, Kind.ENCODED) if kind in kinds), None)
    if isinstance(node, ast.ListComp | ast.DictComp) and _is_of_lists(node):
        return Kind.EMPTY_LISTS
    if isinstance(node, ast.ListComp):
        if kind_of(node.generators[0].iter, names) == Kind.FILES and (
            isinstance(node.elt, ast.Name) or _is_of_path(node.elt)
        ):
            return Kind.FILES
        return Kind.TOKENS if holds_all(node, names) else None
    if isinstance(node, ast.GeneratorExp):
        through = node.generators[0].iter
        is_stream = (is_data(through, names) and kind_of(through, names) != Kind.TOKENS) or goes_through_files(
            node, names
        )
        return Kind.STREAM if is_stream else None
    return _kind_of_call(node, names) if isinstance(node, ast.Call) else None


def _is_of_lists(node: ast.ListComp | ast.DictComp) -> bool:
    """{name: [] for name in names}, [[] for _ in range(n)]"""
    value = node.value if isinstance(node, ast.DictComp) else node.elt
    return is_empty(value) or (isinstance(value, ast.ListComp) and is_empty(value.elt))


def _kind_of_call(node: ast.Call, names: Names) -> Kind | None:
    name = dotted(node.func)
    if name.rpartition(".")[2] in OPENERS:
        return None if is_small(node) or is_for_writing(node) else Kind.FILE
    if name in ("list", "set", "np.array") and (not node.args or is_empty(node.args[0])):
        return Kind.EMPTY
    if is_whole_read(node, names) or is_whole_json(node, names):
        return Kind.WHOLE
    end = name.rpartition(".")[2]
    if end in _RETURNED:
        return _RETURNED[end]
    if name in ("map", "filter") and any(
        is_data(each, names) and kind_of(each, names) != Kind.TOKENS for each in node.args[1:]
    ):
        return Kind.STREAM
    if PARQUET.fullmatch(name) or (TABLES.fullmatch(name) and not is_small(node)):
        if any(keyword_of(node, name) is not None for name in ("chunksize", "iterator")):
            return Kind.STREAM
        return None if is_in_parts(node) else Kind.TABLE
    if STREAMS.search(name) or (end == "find" and isinstance(node.func, ast.Attribute) and _is_query(node)):
        return Kind.STREAM
    if name in ("pd.json_normalize", "json_normalize") and _takes_kind(node, Kind.WHOLE, names):
        return Kind.TABLE
    if name in FINDERS and _takes_kind(node, Kind.WHOLE, names):
        return Kind.TOKENS
    if name in ARRAY_LOADERS and keyword_of(node, "mmap_mode") is None and not is_small(node):
        return Kind.TABLE
    if is_join_of(node, (*HELD, Kind.FILE, Kind.STREAM), names):
        return Kind.WHOLE
    if name in OF_PARTS and any(kind_of(each, names) in (*HELD, Kind.STREAM) for each in node.args):
        return Kind.TABLE  # pd.concat(frames)
    if end in ("chain", "from_iterable"):
        chained = [each.value if isinstance(each, ast.Starred) else each for each in node.args]
        return Kind.TOKENS if any(kind_of(each, names) in HELD for each in chained) else None
    if name == "zip" and any(kind_of(each, names) in (*DATA, Kind.TOKENS) for each in node.args):
        return Kind.STREAM
    if end in _SAME_PIECES and node.args:
        inner = kind_of(node.args[0], names)
        return inner if inner in (*DATA, Kind.FILES, Kind.ONE_FILE) else None
    if name in PARSERS and any(kind_of(each, names) == Kind.WHOLE for each in node.args):
        return Kind.WHOLE
    if end == "load_dataset":
        return Kind.FEW if _is_of_few_rows(node) else Kind.DATASET
    if name in ("csv.reader", "csv.DictReader") and _takes_data(node, names):
        return Kind.STREAM
    if end == "deque" and not node.args and keyword_of(node, "maxlen") is None:
        return Kind.EMPTY
    if end == "defaultdict" and node.args and dotted(node.args[0]) in ("list", "dict", "set"):
        return Kind.EMPTY_LISTS
    if name in ("dict", "OrderedDict", "collections.OrderedDict") and not node.args and not node.keywords:
        return Kind.EMPTY_MAP
    if (returned := names.get(f"{end}()")) is not None:
        return returned
    if is_encoder(node):
        if _takes_kind(node, Kind.STREAM, names):
            return Kind.STREAM  # encode_iterable(chunks)
        return Kind.TOKENS if takes_everything(node, names) else Kind.ENCODED
    if isinstance(node.func, ast.Attribute) and (kind := _kind_of_method(node, node.func, names)) is not None:
        return kind
    if name in ("list", "tuple", "sorted") and node.args:
        if is_few(node.args[0], names):
            return Kind.FEW
        inner = kind_of(node.args[0], names)
        if inner in (Kind.STREAM, Kind.DATASET, Kind.TOKENS):
            return Kind.TOKENS
        if inner == Kind.FILES:
            return Kind.FILES
        return Kind.WHOLE if inner in (Kind.FILE, Kind.WHOLE) else None
    return _wrapped(node, end, names)


def _kind_of_part(node: ast.Attribute, names: Names) -> Kind | None:
    """df.values and df.text are all of it; corpus.train is what the class of corpus gives self.train."""
    inner = kind_of(node.value, names)
    if inner in (Kind.TABLE, Kind.DATASET, Kind.STREAM) and node.attr not in _ABOUT_DATA:
        return inner
    of_object = names.get(f"self.{node.attr}") if isinstance(node.value, ast.Name) else None
    return of_object if of_object in HELD else None


def _kind_of_method(node: ast.Call, func: ast.Attribute, names: Names) -> Kind | None:
    inner, method = kind_of(func.value, names), func.attr
    if inner in (Kind.POOL, Kind.EXECUTOR):
        if all(is_few(each, names) for each in node.args[1:2]):
            return None
        is_stream = method.startswith("imap") or (inner == Kind.EXECUTOR and method == "map")
        return Kind.STREAM if is_stream else Kind.TOKENS if method in ("map", "starmap") else None
    if inner == Kind.TABLE and method in _LISTS_OF_TABLE:
        return Kind.TOKENS if method != "unique" else None
    if inner == Kind.DATASET and method in ("take", "select") and all(map(is_bounded, node.args)):
        return None
    if inner in (*HELD, Kind.DATASET, Kind.STREAM, Kind.ONE_FILE) and method not in _REDUCING:
        return inner
    # Through the names of all its records.
    return Kind.STREAM if inner in (Kind.WHOLE, Kind.TOKENS) and method == "keys" else None


def is_join_of(node: ast.expr, kinds: Collection[Kind], names: Names) -> bool:
    """' '.join(lines): all of them once more."""
    is_join = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join"
    return is_join and isinstance(node, ast.Call) and any(kind_of(each, names) in kinds for each in node.args)


def _is_of_few_rows(node: ast.Call) -> bool:
    """load_dataset('x', split='train[:200]')"""
    split = keyword_of(node, "split")
    return isinstance(split, ast.Constant) and re.search(r"\[:\d+\]$", str(split.value)) is not None


def is_few(node: ast.expr, names: Names) -> bool:
    """A loop over it ends soon: a literal, also under a name, enumerated or by its items."""
    if is_bounded(node) or kind_of(node, names) == Kind.FEW:
        return True
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "keys", "values"):
        return kind_of(node.func.value, names) == Kind.FEW
    if dotted(node.func) == "range":
        return all(kind_of(each, names) == Kind.FEW for each in node.args)
    return dotted(node.func) in WRAPPERS and bool(node.args) and is_few(node.args[0], names)


def _wrapped(node: ast.Call, end: str, names: Names) -> Kind | None:
    """jsonlines.Reader(file), io.TextIOWrapper(dctx.stream_reader(file)): the same pieces, read by another object."""
    given = {kind_of(each, names) for each in node.args}
    is_made = any(part[:1].isupper() for part in dotted(node.func).split("."))  # Reader(f), Dump.from_file(f)
    if is_made or end.endswith(("reader", "iter", "stream")):
        return Kind.STREAM if given & {Kind.FILE, Kind.STREAM} or (end in _IN_MEMORY and Kind.WHOLE in given) else None
    return Kind.WHOLE if Kind.WHOLE in given and end in _SAME_TEXT else None


def _is_of_path(node: ast.expr) -> bool:
    """os.path.join(folder, name), name.replace('.txt', ''): still the name of a file."""
    end = dotted(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return end in ("join", "str", "Path", "replace", "removesuffix", "strip", "as_posix", "splitext")


def takes_everything(node: ast.Call, names: Names) -> bool:
    """It is given a whole text, or a list with everything in it."""
    return any(kind_of(each, names) in (Kind.WHOLE, Kind.TOKENS) for each in node.args)


def is_whole_read(node: ast.Call, names: Names) -> bool:
    """f.read(), f.read(-1), f.readlines(), Path(p).read_text(): no size, and of a file that may be big."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in READERS:
        return False
    owner = node.func.value
    if node.func.attr in ("read_text", "read_bytes"):
        return not is_small(owner)
    sizes = [*node.args, *(keyword.value for keyword in node.keywords)]
    return kind_of(owner, names) == Kind.FILE and all(is_minus_one(size) for size in sizes)


def is_whole_json(node: ast.Call, names: Names) -> bool:
    """json.load(f), pickle.load(f), pickle.Unpickler(f).load(): the whole document as Python objects."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "load" and not node.args:
        return kind_of(node.func.value, names) == Kind.STREAM
    return dotted(node.func) in LOADERS and any(kind_of(each, names) == Kind.FILE for each in node.args)


def is_room_for(node: ast.expr, names: Names) -> bool:
    """[None] * len(rows), np.zeros((len(rows), width)): a place for each."""
    if isinstance(node, ast.Call) and dotted(node.func) in ("np.zeros", "np.empty", "np.ones", "np.full"):
        shape = keyword_of(node, "shape") or next(iter(node.args), None)
        return isinstance(shape, ast.Tuple) and len(shape.elts) > 1 and is_length_of_data(shape.elts[0], names)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult) or not isinstance(node.left, ast.List):
        return False
    return is_length_of_data(node.right, names)


def _is_query(node: ast.Call) -> bool:
    """collection.find(), collection.find({'x': 1}): of MongoDB; text.find('x') looks for a place."""
    return not node.args or isinstance(node.args[0], ast.Dict)


def _takes_kind(node: ast.Call, kind: Kind, names: Names) -> bool:
    return any(kind_of(each, names) == kind for each in node.args)


def _takes_data(node: ast.Call, names: Names) -> bool:
    return any(kind_of(each, names) in DATA for each in node.args)


def holds_all(node: ast.ListComp, names: Names) -> bool:
    """Every line of a file, or the tokens of each of many texts."""
    first = node.generators[0]
    if goes_through_files(node, names):
        return True  # [pd.read_csv(path) for path in paths]
    if not any(True for _ in names_in(node.elt)):
        return False  # sum([1 for _ in f])
    if not is_few(first.iter, names) and picks_by(node.elt, first, names):
        return True
    if is_data(first.iter, names) or kind_of(first.iter, names) == Kind.TOKENS:
        tests = [test for each in node.generators for test in each.ifs]
        return all(is_plain(test) or _is_of_lookup(test, node.elt) for test in tests) or has_encoder(node)
    if isinstance(node.elt, ast.Call) and not node.elt.args and dotted(node.elt.func).endswith((".result", ".get")):
        return not is_few(first.iter, names)
    return has_encoder(node) and _is_nested(node) and not is_bounded(first.iter)


def _is_of_lookup(test: ast.expr, value: ast.expr) -> bool:
    """[index[w] for w in words if w in index]: all that a vocabulary knows, which is nearly all."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In) or not isinstance(value, ast.Subscript):
        return False
    return ast.dump(value.value) == ast.dump(test.comparators[0]) and ast.dump(value.slice) == ast.dump(test.left)


def goes_through_files(node: ast.ListComp | ast.GeneratorExp, names: Names) -> bool:
    """(pd.read_csv(path) for path in paths): what is loaded is named by the loop, so it goes through files."""
    targets = {name for each in node.generators for name in names_in(each.target)}
    return any(is_load_of(each, targets) for each in ast.walk(node.elt)) and not is_bounded(node.generators[0].iter)


def is_load_of(node: ast.AST, targets: Collection[str]) -> bool:
    """A call that reads a whole file, which one of these names names: pd.read_csv(os.path.join(folder, name))."""
    if not isinstance(node, ast.Call):
        return False
    name = dotted(node.func)
    end = name.rpartition(".")[2]
    is_load = is_loader(name) or LOADS_ONE.match(end) is not None or name == "Image.open"
    if end in ("read", "readlines") and isinstance(node.func, ast.Attribute):
        is_load = isinstance(node.func.value, ast.Call) and dotted(node.func.value.func).rpartition(".")[2] in OPENERS
    return is_load and any(each in targets for each in names_in(node))


def picks_by(node: ast.AST, loop: ast.comprehension | ast.For | ast.AsyncFor, names: Names) -> bool:
    """text[i * size:(i + 1) * size], df.iloc[i]: pieces of what is held, by a number that a loop gives."""
    targets = set(names_in(loop.target))
    counts = isinstance(loop.iter, ast.Call) and dotted(loop.iter.func) == "range"
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript) and targets & set(names_in(each.slice)):
            kind = kind_of(each.value, names)
            if kind in HELD and (kind != Kind.TABLE or counts):  # for name in names: df[name] has columns
                return True
    return False


def _is_nested(node: ast.ListComp) -> bool:
    """[t for doc in docs for t in encode(doc)] flattens everything into one list."""
    return len(node.generators) > 1


def is_data(node: ast.expr, names: Names) -> bool:
    """A loop over it goes through the input: a file, its pieces, a dataset, or a list of all of them."""
    if kind_of(node, names) in (*DATA, Kind.TOKENS):
        return True
    if not isinstance(node, ast.Call) or is_slice_of_few(node):
        return False
    if any(reads_in_pieces(each, names) for each in ast.walk(node)):
        return True
    if dotted(node.func) == "range":
        return any(is_length_of_data(each, names) for each in node.args)
    # tqdm(f), enumerate(tqdm(lines)), and read(f, 1_000_000) of one's own.
    return any(is_data(each, names) for each in node.args)


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_length_of_data(node: ast.expr, names: Names) -> bool:
    """range(len(rows)), range(len(words) - n + 1), range(df.shape[0]): through all of it, by number."""
    counted = [each.args for each in ast.walk(node) if isinstance(each, ast.Call) and dotted(each.func) == "len"]
    counted += [[each.value] for each in ast.walk(node) if isinstance(each, ast.Attribute) and each.attr == "shape"]
    return any(kind_of(each, names) in (*DATA, Kind.TOKENS) for args in counted for each in args)


def reads_in_pieces(node: ast.AST, names: Names) -> bool:
    """f.read(size), f.readline()"""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("read", "readline")
        and kind_of(node.func.value, names) in (Kind.FILE, Kind.STREAM)
    )


def reads_a_record(node: ast.AST, names: Names) -> bool:
    """game = read_game(f), part = pickle.load(f), row = next(rows): what is given the file at every turn reads on."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    return any(kind_of(each, names) in (Kind.FILE, Kind.STREAM) for each in node.value.args)
