"""What an expression is by its form alone: a name, a call with a keyword, a loop that ends soon, an encoder. And names
as this package knows them, whatever a script calls its modules: `import pandas as pnd`."""

import ast
import re
from collections.abc import Iterator

# The names under which the readers here know a module.
_USUAL = {"pandas": "pd", "numpy": "np", "polars": "pl", "pyarrow.parquet": "pq"}
_KNOWN_BY_FUNCTION = frozenset({*_USUAL, "json", "ujson", "orjson", "simplejson", "pickle", "csv", "torch"})


def with_usual_names(tree: ast.Module) -> ast.Module:
    """The same script, in which known modules and their functions have their usual names. Line numbers stay."""
    renamed: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name in _KNOWN_BY_FUNCTION and (each.asname is not None or "." not in each.name):
                    renamed[each.asname or each.name] = _USUAL.get(each.name, each.name)
        elif isinstance(node, ast.ImportFrom) and node.module in _KNOWN_BY_FUNCTION:
            for each in node.names:
                renamed[each.asname or each.name] = f"{_USUAL.get(node.module, node.module)}.{each.name}"
        elif isinstance(node, ast.ImportFrom) and node.module == "pyarrow":
            renamed |= {each.asname or each.name: "pq" for each in node.names if each.name == "parquet"}
    usual = {name: known for name, known in renamed.items() if name != known}
    if usual:
        _Renamer(usual).visit(tree)
    return tree


class _Renamer(ast.NodeTransformer):
    def __init__(self, usual: dict[str, str]) -> None:
        self._usual = usual

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self._usual.get(node.id)
        if known is None or not isinstance(node.ctx, ast.Load):
            return node
        module, _, function = known.partition(".")
        name = ast.copy_location(ast.Name(module, ast.Load()), node)
        return ast.copy_location(ast.Attribute(name, function, ast.Load()), node) if function else name


# Files that are small by their nature: a program's own source, its settings, a vocabulary.
_SMALL = re.compile(
    r"(?i)^/(proc|sys|etc)/|\.(py|md|rst|toml|ya?ml|cfg|ini|env|lock|css|html|sql)$"
    r"|(config|settings|vocab|encoder|merges|meta|params|tokenizer|manifest|package|schema|index|version|license|readme)"
)
# create_tokenizer(texts) makes what encodes, and encodes nothing.
_ENCODERS = re.compile(
    r"(?:batch_)?encode(?:_\w+)?|(?!(?:create|build|train|load|get|make|save|init|setup|fit)_)(?:\w+_)?tokeni[sz]er?(?:_\w+)?"
)
_CODECS = {"encoding", "enc", "codec", "charset", "errors"}
WRAPPERS = {"tqdm", "tqdm.tqdm", "enumerate", "iter", "reversed", "sorted", "zip", "islice", "itertools.islice"}


def dotted(node: ast.expr) -> str:
    """'np.array' of that expression; of something longer, its end: '.read'."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def keyword_of(node: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)


def names_in(node: ast.AST) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def is_bounded(node: ast.expr) -> bool:
    """A loop over it ends soon: a literal, or a range of a number that is written there."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict | ast.Constant):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = dotted(node.func)
    if name == "range":
        return all(isinstance(each, ast.Constant) for each in node.args)
    return is_slice_of_few(node) or (name in WRAPPERS and bool(node.args) and is_bounded(node.args[0]))


def is_slice_of_few(node: ast.Call) -> bool:
    """islice(f, 100) and random.sample(lines, 10) end soon; islice(f, 0, None) does not."""
    if dotted(node.func).rpartition(".")[2] not in ("islice", "sample", "choices") or len(node.args) < 2:
        return False
    stop = node.args[1] if len(node.args) == 2 else node.args[2]
    return isinstance(stop, ast.Constant) and isinstance(stop.value, int)


_PRESENT = {"strip", "isspace", "endswith", "get", "exists", "isfile", "is_file", "any", "all"}


def is_plain(test: ast.expr) -> bool:
    """It leaves out what is empty or short, and no more: 'if line', 'if not line.strip()', 'if len(line) > 20'."""
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) or is_plain(test.operand)  # what a test leaves out is the exception
    if isinstance(test, ast.BoolOp):
        return all(map(is_plain, test.values)) and sum(map(is_share, test.values)) < 2
    if isinstance(test, ast.Compare):
        if isinstance(test.ops[0], ast.NotIn | ast.NotEq | ast.IsNot | ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            return True  # if line not in seen, if score > 0.5: all but some, as far as the source shows
        if is_share(test):
            return True
        return any(isinstance(each, ast.Call) and dotted(each.func) == "len" for each in ast.walk(test))
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
        return True  # keep(line), is_english(line): a filter of one's own passes much of what it is given
    # if row.get('text'), if os.path.exists(path): it is there; if name.endswith('.json') leaves out other files.
    is_call = isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr in _PRESENT
    return isinstance(test, ast.Name | ast.Attribute | ast.Subscript) or is_call


def is_share(test: ast.expr) -> bool:
    """record.kind == 'response', row['split'] == 'train': a share that grows with the input. Two of them leave few."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    field = test.left.slice if isinstance(test.left, ast.Subscript) else None
    is_named = isinstance(field, ast.Constant) and isinstance(field.value, str)
    return is_named or isinstance(test.left, ast.Attribute)


def is_encoder(node: ast.expr) -> bool:
    """enc.encode_ordinary(...), tokenize(...); not text.encode('utf-8'), which gives bytes."""
    if not isinstance(node, ast.Call) or not node.args:
        return False
    name = dotted(node.func).rpartition(".")[2]
    if _ENCODERS.fullmatch(name) is None:
        return False
    first = node.args[0]
    is_codec = isinstance(first, ast.Constant) or (isinstance(first, ast.Name) and first.id in _CODECS)
    return not (name == "encode" and is_codec)


def has_encoder(node: ast.AST) -> bool:
    return any(is_encoder(each) for each in kept_in(node) if isinstance(each, ast.expr))


_REDUCED = {"len", "sum", "min", "max", "int", "float", "hash", "round", "bool"}


def kept_in(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of an expression but for those of which it keeps only a number: ids of len(ids)."""
    yield node
    if not isinstance(node, ast.Call) or dotted(node.func) not in _REDUCED or len(node.args) != 1:
        for child in ast.iter_child_nodes(node):
            yield from kept_in(child)


_SAVING = re.compile(r"(?:save|write|dump|export|store|flush|upload)(?:_\w+)?")


def is_saving(node: ast.AST) -> bool:
    """save_rows(rows), flush(buffer): what it is given is in a file then, and what it returns is a name or a number."""
    return isinstance(node, ast.Call) and _SAVING.fullmatch(dotted(node.func).rpartition(".")[2]) is not None


def is_small(node: ast.AST) -> bool:
    """Whether it names a file that is small by its nature. Of a path, only the last part counts."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value != "utf-8" and _SMALL.search(node.value) is not None
    if isinstance(node, ast.Name):
        return _SMALL.search(node.id) is not None
    if isinstance(node, ast.Attribute):
        return _SMALL.search(node.attr) is not None  # config.corpus_path is not small because it is configured
    if isinstance(node, ast.Subscript):
        return is_small(node.slice) or (not isinstance(node.slice, ast.Constant) and is_small(node.value))
    if isinstance(node, ast.Call) and dotted(node.func).endswith("path.join") and node.args:
        return is_small(node.args[-1])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return is_small(node.right)
    return any(map(is_small, ast.iter_child_nodes(node)))


def is_for_writing(node: ast.Call) -> bool:
    mode = keyword_of(node, "mode") or next(iter(node.args[1:2]), None)
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and any(c in mode.value for c in "wax")


def is_literal(node: ast.expr) -> bool:
    """Written there with all that is in it, and something is."""
    parts = [*node.keys, *node.values] if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return bool(parts) and all(isinstance(part, ast.Constant) or (part and is_literal(part)) for part in parts)


def is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple) and not node.elts


def is_minus_one(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
