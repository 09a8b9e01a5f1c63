"""Goes through a script in the order in which it runs, and notes the lines that hold everything in memory.

Careful rather than complete: a list that is emptied on the way, one document's tokens, a vocabulary or a config file
are passed over, and so is what cannot be told from the source.
"""

import ast
import re
import warnings
from dataclasses import dataclass

from memwatch.diagnose.scripts.hits import WORDS, Hit, NotFollowed, Pattern
from memwatch.diagnose.scripts.imports import with_usual_names
from memwatch.diagnose.scripts.kinds import (
    PARQUET,
    TABLES,
    Kind,
    dotted,
    has_encoder,
    holds_all,
    is_encoder,
    is_plain,
    is_small,
    is_whole_read,
    kind_of,
    names_in,
    takes_everything,
)
from memwatch.diagnose.scripts.library_calls import JOINING, pattern_of_call
from memwatch.diagnose.scripts.loops import Loop, loop_of

MOST_HITS = 50
# Modules whose ways of loading are known here, or that load nothing.
_KNOWN_MODULES = frozenset(
    """
    argparse array ast asyncio bz2 codecs collections concurrent contextlib copy csv dataclasses datasets datetime enum
    functools glob gzip hashlib heapq io itertools json logging lzma math multiprocessing np numpy orjson os pandas
    pathlib pd pickle pl polars pq pyarrow queue random re sentencepiece shutil spm string struct subprocess sys
    tempfile threading tiktoken time tokenizers torch tqdm transformers types typing ujson urllib uuid warnings zipfile
    zlib
    """.split()  # noqa: SIM905
)
SOURCE_CHARACTERS = 100

# Names of functions of others that may return everything there is.
_MAY_LOAD = re.compile(
    r"(?i)^(?:load|read|get|fetch|iter|parse)?_?\w*(?:docs?|documents?|corpus|dataset|data|texts?|lines|rows)$"
)
_INPUT_NAME = re.compile(r"(?i)path|file|fname|corpus|input|data|folder|dir$|source")
_DATA_FILE = re.compile(
    r"(?i)\.(?:txt|jsonl?|csv|tsv|parquet|arrow|gz|zst|xz|bz2|xml|bin|npy|npz|pkl|h5|hdf5|warc|wet)\b"
)
# Columns of a dataset, which come as a list of everything; "train" is a split.
_COLUMNS = {"text", "content", "input_ids", "sentence", "document", "article", "prompt", "messages", "tokens"}


@dataclass(frozen=True, slots=True)
class ScriptReading:
    """What a script holds, by line, and what could not be told: without the second, no hits would mean too much."""

    hits: list[Hit]
    not_followed: list[NotFollowed]


def read_script(source: bytes | str) -> list[Hit]:
    return follow_script(source).hits


def follow_script(source: bytes | str) -> ScriptReading:
    """Raises SyntaxError, ValueError, RecursionError or MemoryError where it is not Python that can be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # An invalid escape in somebody's script is not our business.
        tree = with_usual_names(ast.parse(source))
    text = source.decode(errors="replace") if isinstance(source, bytes) else source
    reader = _Reader(text.splitlines())
    reader.visit(tree)
    hits = {(hit.line, hit.pattern): hit for hit in reader.hits}
    told = {hit.line for hit in hits.values()}
    unsure = reader.not_followed if hits else [*reader.unseen, *reader.not_followed]
    left = {each.line: each for each in unsure if each.line not in told}
    return ScriptReading(
        sorted(hits.values(), key=lambda hit: hit.line)[:MOST_HITS],
        sorted(left.values(), key=lambda each: each.line)[:MOST_HITS],
    )


class _Reader(ast.NodeVisitor):
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._names: dict[str, Kind] = {}
        self._loops: list[Loop] = []
        self._tests: list[ast.expr] = []  # of the ifs around, inside the innermost loop
        self._function: str | None = None
        self._is_one_file = False  # in text = open(name).read(), in a loop over a folder: one file at a time is held
        self._aliases: dict[str, str] = {}  # add = out.append, and buffer = tokens: what they stand for
        self._defined: set[str] = set()
        self._imported: set[str] = set()  # from modules of which nothing is known
        self.hits: list[Hit] = []
        self.not_followed: list[NotFollowed] = []
        self.unseen: list[NotFollowed] = []  # worth a word only where nothing was found

    # Scopes and names

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function sees the names around it; its loops are its own, as it may be called for one document."""
        before = self._names, self._loops, self._tests, self._function
        self._names, self._loops, self._tests, self._function = dict(self._names), [], [], node.name
        for argument in (*node.args.args, *node.args.kwonlyargs):
            self._names.pop(argument.arg, None)
        self._defined.add(node.name)
        self.generic_visit(node)
        returned = self._names.get("return")
        # What a method gives its object, the object's other methods see.
        of_object = {name: kind for name, kind in self._names.items() if name.startswith("self.")}
        self._names, self._loops, self._tests, self._function = before
        self._names |= of_object
        if returned is not None:
            self._names[f"{node.name}()"] = returned

    def visit_Yield(self, node: ast.Yield) -> None:
        """A function that yields in a loop over the input is the input, one piece after another."""
        self.generic_visit(node)
        if any(loop.over_data and not loop.is_bounded for loop in self._loops):
            self._names["return"] = Kind.STREAM

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Return(self, node: ast.Return) -> None:
        self.generic_visit(node)
        kind = None if node.value is None else kind_of(node.value, self._names)
        if kind in (Kind.WHOLE, Kind.TOKENS, Kind.DATASET, Kind.STREAM) and self._function is not None:
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
        is_one_file = self._is_one_file
        self._is_one_file = isinstance(node.targets[0], ast.Name) and any(loop.over_files for loop in self._loops)
        self.visit(node.value)
        self._is_one_file = is_one_file
        self._grown_by_sum(node)
        self._array_growth(node)
        for target in node.targets:
            self._bind(target, node.value)
            if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
                self._filled(node, dotted(target.value), node.value)
        self._ask_about(node.value)

    def _filled(self, node: ast.AST, name: str, value: ast.expr) -> None:
        """records[key] = record, in a loop over the input: a dict of everything."""
        is_new = isinstance(value, ast.Dict) or (
            isinstance(value, ast.Name | ast.Subscript) and any(each in self._given() for each in names_in(value))
        )
        if is_new and self._names.get(name) in (Kind.EMPTY_MAP, Kind.EMPTY_LISTS) and self._is_through_all(name):
            self._note(Pattern.RECORD_LIST, node)

    def _given(self) -> frozenset[str]:
        return self._loops[-1].gives if self._loops else frozenset()

    def _is_through_all(self, name: str) -> bool:
        """Inside a loop over the input that neither ends soon nor empties `name`."""
        if any(name in loop.lets_go for loop in self._loops):
            return False
        return any(loop.over_data and not loop.is_bounded for loop in self._loops)

    def _ask_about(self, value: ast.expr) -> None:
        """data = helpers.load_corpus(path): a function of others may return everything."""
        if not isinstance(value, ast.Call) or kind_of(value, self._names) is not None:
            return
        name = dotted(value.func)
        module, _, end = name.rpartition(".")
        is_own = name in self._defined or module in self._names or not module.isidentifier()
        if not is_own and module in self._imported and _MAY_LOAD.match(end) and not is_small(value):
            self._not_followed(value, f"{name}() is defined elsewhere, and may return everything")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._bind(node.target, node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._bind(node.target, node.value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name | ast.Attribute):
            name = dotted(target)
            kind = self._bound_kind(value)
            self._names.pop(name, None)
            self._aliases.pop(name, None)
            if kind is not None:
                self._names[name] = kind
            if isinstance(value, ast.Name | ast.Attribute) and dotted(value):
                self._aliases[name] = dotted(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for each, its_value in zip(target.elts, value.elts, strict=True):
                self._bind(each, its_value)

    def _bound_kind(self, value: ast.expr) -> Kind | None:
        kind = kind_of(value, self._names)
        if any(loop.over_files for loop in self._loops):
            if kind == Kind.WHOLE or (kind is None and self._is_of_one_file(value)):
                return Kind.ONE_FILE
            if kind is None and isinstance(value, ast.Call) and has_encoder(value):
                return Kind.ENCODED
        return kind

    def _is_of_one_file(self, value: ast.expr) -> bool:
        return any(self._names.get(name) == Kind.ONE_FILE for name in names_in(value))

    # Loops

    def visit_For(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if not isinstance(node, ast.While):
            self.visit(node.iter)
        loop = loop_of(node, self._names)
        self._loops.append(loop)
        if loop.over_files and not isinstance(node, ast.While):
            self._names |= dict.fromkeys(names_in(node.target), Kind.FILES)  # for root, _, files in os.walk(folder)
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
        if isinstance(node.target, ast.Name | ast.Attribute) and isinstance(node.op, ast.Add):
            self._gathered(node, dotted(node.target), [node.value])

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        names = [(each.asname or each.name).partition(".")[0] for each in node.names]
        if isinstance(node, ast.ImportFrom) or not any(name in _KNOWN_MODULES for name in names):
            module = "" if isinstance(node, ast.Import) else (node.module or "").partition(".")[0]
            if module not in _KNOWN_MODULES:
                self._imported.update(names)

    visit_ImportFrom = visit_Import

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self.generic_visit(node)
        if holds_all(node, self._names):
            self._note(Pattern.TOKEN_LIST if has_encoder(node) else Pattern.RECORD_LIST, node)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = dotted(node.func)
        self._ask_about_file(node, name)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        alias, _, of_alias = self._aliases.get(name, "").rpartition(".")
        if of_alias in ("extend", "append") and alias:
            self._gathered(node, alias, node.args)
        elif method in ("extend", "append") and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.IfExp):
                owner = owner.body  # (train if test else val).append(line): one of them takes it in
            base = owner.value if isinstance(owner, ast.Subscript) else owner
            if dotted(base):
                self._gathered(node, self._aliases.get(dotted(base), dotted(base)), node.args)
        elif is_whole_read(node, self._names):
            if not self._is_one_file:
                self._note(Pattern.WHOLE_LINES if method == "readlines" else Pattern.WHOLE_READ, node)
        elif is_encoder(node) and takes_everything(node, self._names):
            self._note(Pattern.WHOLE_ENCODE, node)
        else:
            pattern = pattern_of_call(node, self._names, self._is_one_file)
            if pattern is not None:
                self._note(pattern, node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """ds['text']: a column of a dataset, as a list."""
        self.generic_visit(node)
        column = node.slice.value if isinstance(node.slice, ast.Constant) else None
        is_whole = isinstance(node.value, ast.Name | ast.Attribute) or (
            isinstance(node.value, ast.Subscript) and isinstance(node.value.slice, ast.Constant)
        )
        if column in _COLUMNS and is_whole and kind_of(node.value, self._names) == Kind.DATASET:
            self._note(Pattern.DATASET_IN_MEMORY, node)

    def _gathered(self, node: ast.AST, name: str, values: list[ast.expr]) -> None:
        """`name` has taken something in. Does it take in everything?"""
        kind = self._names.get(name)
        if not self._loops or kind not in (Kind.EMPTY, Kind.EMPTY_TEXT, Kind.EMPTY_LISTS, Kind.TOKENS):
            return
        if any(name in loop.lets_go for loop in self._loops):
            return
        if any(loop.over_data and loop.is_bounded for loop in self._loops):
            return
        encodes = any(has_encoder(value) or kind_of(value, self._names) == Kind.ENCODED for value in values)
        over_data = any(loop.over_data for loop in self._loops) or any(map(self._is_of_one_file, values))
        of_the_loop = any(each in self._loops[-1].gives for value in values for each in names_in(value))
        if encodes and not all(loop.is_bounded for loop in self._loops):
            self._note(Pattern.TOKEN_LIST, node)
        elif over_data and of_the_loop and all(is_plain(test) for test in self._tests):
            self._note(Pattern.WHOLE_TEXT if kind == Kind.EMPTY_TEXT else Pattern.RECORD_LIST, node)
        elif over_data and of_the_loop:
            self._not_followed(node, f"{name} takes in what passes a test, and how much that is does not show")
            return
        elif not any(self._is_load(value) for value in values):
            if of_the_loop and not over_data and not all(loop.is_bounded for loop in self._loops):
                self._ask_about_loop(node)
            return
        if kind != Kind.EMPTY_LISTS:
            self._names[name] = Kind.TOKENS

    def _is_load(self, value: ast.expr) -> bool:
        """frames.append(pd.read_csv(path)): every file, one after another."""
        name = dotted(value.func) if isinstance(value, ast.Call) else ""
        return bool(TABLES.fullmatch(name) or PARQUET.fullmatch(name) or name in ("np.load", "numpy.load"))

    def _ask_about_file(self, node: ast.Call, name: str) -> None:
        """helpers.run(path): a function of others that is given the input may hold all of it."""
        root = name.partition(".")[0]
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        if (
            root in self._imported
            and root not in self._names
            and any(map(self._is_input, given))
            and not is_small(node)
        ):
            why = f"{name}() is defined elsewhere, is given the input, and may hold all of it"
            self.unseen.append(NotFollowed(node.lineno, self._source(node.lineno), why))

    def _is_input(self, value: ast.expr) -> bool:
        if kind_of(value, self._names) in (Kind.FILE, Kind.DATASET, Kind.STREAM):
            return True
        if isinstance(value, ast.Constant):
            return isinstance(value.value, str) and _DATA_FILE.search(value.value) is not None
        return isinstance(value, ast.Name | ast.Attribute) and _INPUT_NAME.search(dotted(value)) is not None

    def _ask_about_loop(self, node: ast.AST) -> None:
        """A list that grows in a loop over what another module returns: it may be everything."""
        name = self._loops[-1].over
        if name is not None and name.partition(".")[0] in self._imported:
            self._not_followed(node, f"the loop goes through {name}(), which is defined elsewhere")

    def _not_followed(self, node: ast.AST, why: str) -> None:
        line: int = getattr(node, "lineno", 0)
        self.not_followed.append(NotFollowed(line, self._source(line), why))

    def _grown_by_sum(self, node: ast.Assign) -> None:
        """text = text + line, in a loop: the long form of +=."""
        value, name = node.value, dotted(node.targets[0])
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and name and dotted(value.left) == name:
            self._gathered(node, name, [value.right])

    def _array_growth(self, node: ast.Assign) -> None:
        """x = np.concatenate([x, more]) in a loop."""
        if not self._loops or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            return
        name, value = node.targets[0].id, node.value
        joins = isinstance(value, ast.Call) and dotted(value.func) in JOINING and name in set(names_in(value))
        if joins and not any(loop.is_bounded for loop in self._loops):
            self._note(Pattern.ARRAY_GROWTH, node)

    def _note(self, pattern: Pattern, node: ast.AST) -> None:
        line: int = getattr(node, "lineno", 0)
        holds, instead = WORDS[pattern]
        self.hits.append(Hit(pattern, line, self._source(line), holds, instead))

    def _source(self, line: int) -> str:
        source = self._lines[line - 1].strip() if 0 < line <= len(self._lines) else ""
        return source if len(source) <= SOURCE_CHARACTERS else source[: SOURCE_CHARACTERS - 1] + "…"
