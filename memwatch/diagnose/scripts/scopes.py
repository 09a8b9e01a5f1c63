"""Names and loops of a script, while it is gone through in the order in which it runs."""

import ast
import re
from collections.abc import Mapping

from memwatch.diagnose.scripts.expressions import dotted, has_encoder, names_in
from memwatch.diagnose.scripts.kinds import DATA, HELD, Kind, kind_of
from memwatch.diagnose.scripts.loops import Loop, let_go_in, loop_of
from memwatch.diagnose.scripts.reading_calls import READERS, is_loader

Given = Mapping[tuple[str, str], Kind]  # what own functions are given: function and parameter
_FILLED = (Kind.EMPTY, Kind.EMPTY_MAP, Kind.EMPTY_LISTS)
_CHANGED = (Kind.WHOLE, Kind.TOKENS, Kind.TABLE)
_REDUCING = {
    "len",
    "sum",
    "min",
    "max",
    "hash",
    "set",
    "Counter",
    "head",
    "sample",
    "next",
    "loads",
    "get",
    "pop",
    "choice",
}
_LOADS = re.compile(r"(?i)load|read|extract|convert|parse|to_?(?:text|string)")
_RETURNED = (Kind.WHOLE, Kind.TOKENS, Kind.DATASET, Kind.STREAM, Kind.TABLE, Kind.ONE_FILE, Kind.FILES)


class ScopeVisitor(ast.NodeVisitor):
    """Knows, at every node, what the names stand for and which loops and ifs are around."""

    def __init__(self, given: Given, returned: Mapping[str, Kind], per_piece: frozenset[str]) -> None:
        self._given_to = given
        self._names: dict[str, Kind] = dict(returned)
        self._per_piece = per_piece
        self.returned: dict[str, Kind] = {}  # by own functions, "load()", and kept by their objects, "self.rows"
        self._class: str | None = None
        self._local: set[str] = set()  # names that the function around has bound
        self._loops: list[Loop] = []
        self._tests: list[ast.expr] = []  # of the ifs around, inside the innermost loop
        self._function: str | None = None
        self._is_one_file = False  # in text = open(name).read(), in a loop over a folder: one file at a time is held
        self._aliases: dict[str, str] = {}  # add = out.append, and buffer = tokens: what they stand for

    @property
    def _is_per_piece(self) -> bool:
        """In a function that gets one piece of the input at a time."""
        return self._function in self._per_piece

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        before, self._class = self._class, node.name
        self.generic_visit(node)
        self._class = before

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function sees the names around it; its loops are its own, as it may be called for one document."""
        before = self._names, self._loops, self._tests, self._function
        local, self._local = self._local, set()
        self._names, self._loops, self._tests, self._function = dict(self._names), [], [], node.name
        called = self._class if node.name == "__init__" and self._class else node.name
        for argument in (*node.args.args, *node.args.kwonlyargs):
            self._names.pop(argument.arg, None)
            kind = self._given_to.get((called, argument.arg)) or _annotated(argument) or _read_in(node, argument.arg)
            if kind is not None and not self._is_per_piece:
                self._names[argument.arg] = kind
        self._names.pop("return", None)
        self.generic_visit(node)
        returned = self._names.get("return")
        # What a method gives its object, the object's other methods see.
        of_object = {name: kind for name, kind in self._names.items() if name.startswith("self.")}
        self._names, self._loops, self._tests, self._function = before
        self._local = local
        self._names |= of_object
        self.returned |= of_object
        if returned is not None:
            self._names[f"{node.name}()"] = self.returned[f"{node.name}()"] = returned

    def visit_Yield(self, node: ast.Yield) -> None:
        """A function that yields in a loop over the input is the input, one piece after another."""
        self.generic_visit(node)
        if any(loop.over_data and not loop.is_bounded for loop in self._loops):
            self._names["return"] = Kind.STREAM

    def visit_YieldFrom(self, node: ast.YieldFrom) -> None:
        self.generic_visit(node)
        if (kind := kind_of(node.value, self._names)) in (*DATA, Kind.FILES):
            self._names["return"] = Kind.FILES if kind == Kind.FILES else Kind.STREAM

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Return(self, node: ast.Return) -> None:
        self.generic_visit(node)
        kind = None if node.value is None else kind_of(node.value, self._names)
        if isinstance(node.value, ast.Tuple) and any(kind_of(each, self._names) in HELD for each in node.value.elts):
            kind = Kind.TOKENS  # return texts, labels
        if kind in _RETURNED and self._function is not None:
            self._names["return"] = Kind.ONE_FILE if self._is_per_piece and kind in HELD else kind

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, item.context_expr)
        for statement in node.body:
            self.visit(statement)

    visit_AsyncWith = visit_With

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
            self._local |= set() if "." in name else {name}
            kind = self._bound_kind(value) or self._changed_kind(name, value)
            if kind == Kind.WHOLE and self._names.get(name) in _FILLED and self._tests:
                kind = self._names[name]  # results = {}; if os.path.exists(path): results = json.load(f), to go on from
            self._names.pop(name, None)
            self._aliases.pop(name, None)
            if kind is not None:
                self._names[name] = kind
            if isinstance(value, ast.Name | ast.Attribute) and dotted(value):
                self._aliases[name] = dotted(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for each, its_value in zip(target.elts, value.elts, strict=True):
                self._bind(each, its_value)
        elif isinstance(target, ast.Tuple) and (kind := self._bound_kind(value)) in (*HELD, Kind.ONE_FILE):
            # texts, labels = load(path); sound, rate = load(name), in a loop over files
            self._names |= dict.fromkeys(names_in(target), Kind.ONE_FILE if kind == Kind.ONE_FILE else Kind.TOKENS)

    def _changed_kind(self, name: str, value: ast.expr) -> Kind | None:
        """text = clean(text), df = df.replace(...): still all of it, unless it was counted or picked from."""
        if not isinstance(value, ast.Call) or name not in set(names_in(value)):
            return None
        kind = self._names.get(name)
        return kind if kind in _CHANGED and dotted(value.func).rpartition(".")[2] not in _REDUCING else None

    def _bound_kind(self, value: ast.expr) -> Kind | None:
        kind = kind_of(value, self._names)
        if self._is_per_piece or any(loop.over_files for loop in self._loops):
            if kind in (Kind.WHOLE, Kind.TABLE) or (isinstance(value, ast.Call) and is_loader(dotted(value.func))):
                return Kind.ONE_FILE
            if kind is None and (self._is_of_one_file(value) or self._loads_a_file(value) or self._reads(value)):
                return Kind.ONE_FILE
            if kind is None and isinstance(value, ast.Call) and has_encoder(value):
                return Kind.ENCODED
        return kind

    def _reads(self, node: ast.AST) -> bool:
        """A whole file, however small: in a loop over many files it is one of them."""
        return any(
            isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in READERS
            for each in ast.walk(node)
        )

    def _loads_a_file(self, value: ast.expr) -> bool:
        """text = pdf_to_string(name), game = read_game(f), in a loop over the names of files."""
        if not isinstance(value, ast.Call) or _LOADS.search(dotted(value.func).rpartition(".")[2]) is None:
            return False
        if any(kind_of(each, self._names) == Kind.FILE for each in value.args):
            return True
        return any(self._names.get(name) == Kind.FILES for each in value.args for name in names_in(each))

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
        elif not isinstance(node, ast.While) and kind_of(node.iter, self._names) == Kind.ONE_FILE:
            self._names |= dict.fromkeys(names_in(node.target), Kind.ONE_FILE)
        tests, self._tests = self._tests, []
        if isinstance(node, ast.While):
            self.visit(node.test)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)
        self._tests = tests
        self._loops.pop()

    visit_AsyncFor = visit_For
    visit_While = visit_For

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        # if not line.strip(): groups.append(words); words = []: what waits comes in with the next group, so that the
        # test leaves nothing out.
        waiting = {name for loop in self._loops for name in loop.grows}
        ends_group = any(waiting & let_go_in(statement) for statement in node.body)
        tests, self._tests = self._tests, [] if ends_group else [*self._tests, node.test]
        for statement in node.body:
            self.visit(statement)
        self._tests = tests
        for statement in node.orelse:  # What a test does not take out is most of the input, as far as the source shows.
            self.visit(statement)


def _annotated(argument: ast.arg) -> Kind | None:
    """df: pd.DataFrame"""
    return Kind.TABLE if argument.annotation is not None and dotted(argument.annotation).endswith("DataFrame") else None


def _read_in(function: ast.AST, name: str) -> Kind | None:
    """def save(upload): ... upload.read() ...: what is read without a size is a file, whatever it is called."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and not node.args]
    return Kind.FILE if any(dotted(node.func) in (f"{name}.read", f"{name}.readlines") for node in calls) else None
