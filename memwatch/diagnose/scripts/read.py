"""Goes through a script in the order in which it runs, and notes the lines that hold everything in memory.

Careful rather than complete: a list that is emptied on the way, one document's tokens, a vocabulary or a config file
are passed over, and so is what cannot be told from the source.
"""

import ast
import warnings

from memwatch.diagnose.scripts.hits import WORDS, Hit, Pattern
from memwatch.diagnose.scripts.kinds import (
    Kind,
    dotted,
    has_encoder,
    holds_all,
    is_encoder,
    is_small,
    is_whole_json,
    is_whole_read,
    keyword_of,
    kind_of,
    names_in,
)
from memwatch.diagnose.scripts.loops import Loop, loop_of

MOST_HITS = 50
SOURCE_CHARACTERS = 100

_ARRAYS = {"np.array", "numpy.array", "np.asarray", "numpy.asarray", "torch.tensor", "array.array", "np.fromiter"}
_JOINING = {"np.concatenate", "numpy.concatenate", "np.append", "numpy.append", "np.hstack", "torch.cat"}
_TABLES = {"pd.read_csv", "pandas.read_csv", "pd.read_table", "pandas.read_table", "pd.read_json", "pandas.read_json"}
_PARQUET = {"pd.read_parquet", "pandas.read_parquet", "pq.read_table", "pyarrow.parquet.read_table", "pa.csv.read_csv"}
_TEXT_ARRAYS = {"np.loadtxt", "numpy.loadtxt", "np.genfromtxt", "numpy.genfromtxt"}
_BINARY_ARRAYS = {"np.fromfile", "numpy.fromfile"}
_FROM_DATASET = {"to_pandas", "to_list", "to_dict"}


def read_script(source: bytes | str) -> list[Hit]:
    """Raises SyntaxError, ValueError, RecursionError or MemoryError where it is not Python that can be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # An invalid escape in somebody's script is not our business.
        tree = ast.parse(source)
    text = source.decode(errors="replace") if isinstance(source, bytes) else source
    reader = _Reader(text.splitlines())
    reader.visit(tree)
    hits = {(hit.line, hit.pattern): hit for hit in reader.hits}
    return sorted(hits.values(), key=lambda hit: hit.line)[:MOST_HITS]


class _Reader(ast.NodeVisitor):
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._names: dict[str, Kind] = {}
        self._loops: list[Loop] = []
        self._tests: list[ast.expr] = []  # of the ifs around, inside the innermost loop
        self._function: str | None = None
        self.hits: list[Hit] = []

    # Scopes and names

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function sees the names around it; its loops are its own, as it may be called for one document."""
        before = self._names, self._loops, self._tests, self._function
        self._names, self._loops, self._tests, self._function = dict(self._names), [], [], node.name
        for argument in (*node.args.args, *node.args.kwonlyargs):
            self._names.pop(argument.arg, None)
        self.generic_visit(node)
        returned = self._names.get("return")
        self._names, self._loops, self._tests, self._function = before
        if returned is not None:
            self._names[f"{node.name}()"] = returned

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Return(self, node: ast.Return) -> None:
        self.generic_visit(node)
        kind = None if node.value is None else kind_of(node.value, self._names)
        if kind in (Kind.WHOLE, Kind.TOKENS, Kind.DATASET) and self._function is not None:
            self._names["return"] = kind

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, item.context_expr)
        for statement in node.body:
            self.visit(statement)

    visit_AsyncWith = visit_With

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        self._array_growth(node)
        for target in node.targets:
            self._bind(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._bind(node.target, node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._bind(node.target, node.value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            kind = kind_of(value, self._names)
            self._names.pop(target.id, None)
            if kind is not None:
                self._names[target.id] = kind
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for each, its_value in zip(target.elts, value.elts, strict=True):
                self._bind(each, its_value)

    # Loops

    def visit_For(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if not isinstance(node, ast.While):
            self.visit(node.iter)
        self._loops.append(loop_of(node, self._names))
        before, self._tests = self._tests, []
        if isinstance(node, ast.While):
            self.visit(node.test)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)
        self._tests = before
        self._loops.pop()

    visit_AsyncFor = visit_For
    visit_While = visit_For

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._tests.append(node.test)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)
        self._tests.pop()

    # What is looked for

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add):
            self._gathered(node, node.target.id, [node.value])

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self.generic_visit(node)
        if holds_all(node, self._names):
            self._note(Pattern.TOKEN_LIST if has_encoder(node) else Pattern.RECORD_LIST, node)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = dotted(node.func)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method in ("extend", "append") and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name):
                self._gathered(node, node.func.value.id, node.args)
        elif is_whole_read(node, self._names):
            self._note(Pattern.WHOLE_LINES if method == "readlines" else Pattern.WHOLE_READ, node)
        elif is_encoder(node) and self._takes(node, Kind.WHOLE):
            self._note(Pattern.WHOLE_ENCODE, node)
        else:
            self._library_call(node, name, method)

    def _library_call(self, node: ast.Call, name: str, method: str) -> None:
        owner = kind_of(node.func.value, self._names) if isinstance(node.func, ast.Attribute) else None
        if (method in ("split", "splitlines") and owner == Kind.WHOLE) or (
            name in ("re.findall", "re.split") and self._takes(node, Kind.WHOLE)
        ):
            self._note(Pattern.WHOLE_SPLIT, node)
        elif name in _ARRAYS and self._takes(node, Kind.TOKENS):
            self._note(Pattern.LIST_TO_ARRAY, node)
        elif is_whole_json(node, self._names):
            self._note(Pattern.WHOLE_JSON, node)
        elif name in _TABLES and not self._is_in_parts(node) and not is_small(node):
            self._note(Pattern.WHOLE_TABLE, node)
        elif name in _PARQUET and not is_small(node):
            self._note(Pattern.WHOLE_PARQUET, node)
        elif name in _TEXT_ARRAYS or (name in _BINARY_ARRAYS and keyword_of(node, "count") is None):
            self._note(Pattern.WHOLE_ARRAY, node)
        elif name in ("list", "tuple") and self._takes(node, Kind.FILE):
            self._note(Pattern.WHOLE_LINES, node)
        elif self._is_dataset_in_memory(node, name, method, owner):
            self._note(Pattern.DATASET_IN_MEMORY, node)

    def _is_dataset_in_memory(self, node: ast.Call, name: str, method: str, owner: Kind | None) -> bool:
        kept = keyword_of(node, "keep_in_memory")
        if isinstance(kept, ast.Constant) and kept.value is True:
            return name.rpartition(".")[2] == "load_dataset" or owner == Kind.DATASET
        if method in _FROM_DATASET or (method == "join" and owner is None):
            return owner == Kind.DATASET or (method == "join" and self._takes(node, Kind.DATASET))
        return name == "list" and self._takes(node, Kind.DATASET)

    def _gathered(self, node: ast.AST, name: str, values: list[ast.expr]) -> None:
        """`name` has taken something in. Does it take in everything?"""
        kind = self._names.get(name)
        if not self._loops or kind not in (Kind.EMPTY, Kind.EMPTY_TEXT, Kind.TOKENS):
            return
        if any(name in loop.lets_go for loop in self._loops):
            return
        encodes = any(has_encoder(value) or kind_of(value, self._names) == Kind.ENCODED for value in values)
        over_data = any(loop.over_data for loop in self._loops)
        of_the_loop = any(each in self._loops[-1].gives for value in values for each in names_in(value))
        if encodes and not all(loop.is_bounded for loop in self._loops):
            self._note(Pattern.TOKEN_LIST, node)
        elif over_data and of_the_loop and all(_is_plain(test) for test in self._tests):
            self._note(Pattern.WHOLE_TEXT if kind == Kind.EMPTY_TEXT else Pattern.RECORD_LIST, node)
        else:
            return
        self._names[name] = Kind.TOKENS

    def _array_growth(self, node: ast.Assign) -> None:
        """x = np.concatenate([x, more]) in a loop."""
        if not self._loops or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            return
        name, value = node.targets[0].id, node.value
        joins = isinstance(value, ast.Call) and dotted(value.func) in _JOINING and name in set(names_in(value))
        if joins and not any(loop.is_bounded for loop in self._loops):
            self._note(Pattern.ARRAY_GROWTH, node)

    def _takes(self, node: ast.Call, kind: Kind) -> bool:
        return any(kind_of(each, self._names) == kind for each in node.args)

    def _is_in_parts(self, node: ast.Call) -> bool:
        return any(keyword_of(node, name) is not None for name in ("chunksize", "iterator", "nrows"))

    def _note(self, pattern: Pattern, node: ast.AST) -> None:
        line: int = getattr(node, "lineno", 0)
        source = self._lines[line - 1].strip() if 0 < line <= len(self._lines) else ""
        if len(source) > SOURCE_CHARACTERS:
            source = source[: SOURCE_CHARACTERS - 1] + "…"
        holds, instead = WORDS[pattern]
        self.hits.append(Hit(pattern, line, source, holds, instead))


def _is_plain(test: ast.expr) -> bool:
    """It leaves out what is empty, and no more: 'if line', 'if not line.strip()'."""
    if isinstance(test, ast.UnaryOp):
        return _is_plain(test.operand)
    return isinstance(test, ast.Name) or (isinstance(test, ast.Call) and dotted(test.func).endswith("strip"))
