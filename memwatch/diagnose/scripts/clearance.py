"""What keeps a script from an all-clear: calls that are not known, and what grows in a loop of unknown length.

`read.py` finds what holds everything. That nothing was found proves little, so this goes the other way: every call must
be on a list of calls that are known to hold no more than they are given (harmless_calls.py), and every list, dict and
set that grows must be emptied, or grow in a loop that ends soon. Whatever is neither is named.
"""

import ast
from dataclasses import dataclass

from memwatch.diagnose.scripts.expressions import dotted, is_bounded, is_encoder, names_in
from memwatch.diagnose.scripts.harmless_calls import (
    BUILTINS,
    GROWING,
    HOLDING,
    JOINING,
    MAKING_ROOM,
    METHODS,
    MODULES,
    is_class_name,
)
from memwatch.diagnose.scripts.loops import let_go_in
from memwatch.diagnose.scripts.own_functions import functions_per_piece
from memwatch.diagnose.scripts.reading_calls import LISTINGS, TABLES, is_in_parts


def callables_in(node: ast.AST) -> set[str]:
    """key = lambda row: ...; from functools import partial, and work = partial(...)."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Lambda):
        return set()
    return {name for target in node.targets for name in names_in(target)}


def of_fixed_size(node: ast.AST) -> set[str]:
    """bar = tqdm(...), digest = hashlib.md5(): their update() keeps nothing."""
    bound = []
    if isinstance(node, ast.Assign):
        bound = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.With | ast.AsyncWith):
        bound = [(item.optional_vars, item.context_expr) for item in node.items if item.optional_vars is not None]
    calls = [(target, dotted(value.func)) for target, value in bound if isinstance(value, ast.Call)]
    return {dotted(target) for target, name in calls if name.partition(".")[0] in ("tqdm", "hashlib", "trange")}


def numbers_in(node: ast.AST) -> set[str]:
    """Names that begin as a number: n = 0; n += 1 counts, and holds nothing."""
    if isinstance(node, ast.Assign) and is_number(node.value):
        return {dotted(target) for target in node.targets if isinstance(target, ast.Name | ast.Attribute)}
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
        pairs = [
            (each, value)
            for target in node.targets
            if isinstance(target, ast.Tuple) and len(target.elts) == len(node.value.elts)
            for each, value in zip(target.elts, node.value.elts, strict=True)
        ]
        return {dotted(each) for each, value in pairs if is_number(value)}
    if isinstance(node, ast.AnnAssign) and node.value is not None and is_number(node.value):
        return {dotted(node.target)}
    return set()


def is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.Call) and dotted(node.func) in ("len", "int", "float", "time.time", "sum")


_ALL_AT_ONCE = {"list", "tuple", "set", "frozenset", "sorted", "dict", "Counter", "collections.Counter", "deque"}
_NEW_LISTS = {
    "split",
    "splitlines",
    "rsplit",
    "keys",
    "values",
    "items",
    "tolist",
    "encode",
    "encode_ordinary",
    "findall",
}


@dataclass(frozen=True, slots=True)
class Doubt:
    line: int
    why: str


def doubts_in(tree: ast.Module) -> list[Doubt]:
    """In the order of the lines; empty if every call is known and nothing grows without an end."""
    visitor = _Visitor(tree)
    visitor.visit(tree)
    return sorted(set(visitor.doubts), key=lambda doubt: doubt.line)


@dataclass(frozen=True, slots=True)
class _Around:
    """A loop around a statement."""

    is_bounded: bool
    lets_go: frozenset[str]
    targets: frozenset[str] = frozenset()


class _Visitor(ast.NodeVisitor):
    def __init__(self, tree: ast.Module) -> None:
        self.doubts: list[Doubt] = []
        self._own = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        self._own |= {name for node in ast.walk(tree) for name in callables_in(node)}
        self._known = set(MODULES | BUILTINS)
        self._foreign: set[str] = set()  # imported from modules of which nothing is known
        self._counters = {name for node in ast.walk(tree) for name in numbers_in(node)}
        self._clears = any(isinstance(node, ast.Attribute) and node.attr == "clear" for node in ast.walk(tree))
        self._loops: list[_Around] = []
        self._function: str | None = None
        self._per_piece = functions_per_piece(tree)
        self._held: set[str] = set()  # names of what is in memory already: no stream
        self._fixed = {name for node in ast.walk(tree) for name in of_fixed_size(node)}

    # What is known

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            root = each.name.partition(".")[0]
            (self._known if root in MODULES else self._foreign).add(each.asname or root)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        names = {each.asname or each.name for each in node.names}
        if "*" in names:
            self._doubt(node, f"everything of {node.module or 'its folder'} is imported")
        is_known = not node.level and (node.module or "").partition(".")[0] in MODULES
        (self._known if is_known else self._foreign).update(names)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = dotted(node.func)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method in GROWING:
            self._grows(node, _owner(node.func))
        elif name in _ALL_AT_ONCE or (method == "join" and _is_text(node.func)):
            self._gathers(node, node.args[:1], f"{name.lstrip('.') or 'join'}()")
        elif is_encoder(node) and self._function == "__init__" and isinstance(node.args[0], ast.Name):
            self._gathers(node, node.args[:1], f"{name.lstrip('.')}()")
        elif not self._is_known(node, name, method):
            where = "defined elsewhere" if name.partition(".")[0] in self._foreign else "not known here"
            self._doubt(node, f"{name.lstrip('.') or 'what is called here'}() is {where}, and may hold all of it")

    def _is_known(self, node: ast.Call, name: str, method: str) -> bool:
        root = name.partition(".")[0]
        if name in HOLDING or (name in MAKING_ROOM and not self._is_of_fixed_room(node)):
            return False
        if TABLES.fullmatch(name) is not None and is_in_parts(node):
            return True
        if name.endswith("iterparse"):
            return self._clears  # Without element.clear() it builds the whole tree.
        if name in JOINING:
            return all(map(self._is_of_one_turn, node.args[:1]))
        if root in self._foreign:
            return is_class_name(name.rpartition(".")[2]) and not node.args and not node.keywords
        if not method:
            return name in self._known | self._own or is_encoder(node) or name.endswith(("Error", "Exception"))
        if method in ("read", "readlines"):
            return self._function in self._per_piece or (method == "read" and self._is_of_a_piece(node))
        return root in self._known or method in METHODS or method in self._own or is_encoder(node)

    def _is_of_a_piece(self, node: ast.Call) -> bool:
        """f.read(4096), and f.read(size) at every turn of a loop; f.read(size) alone may be all of it."""
        is_written = all(not any(True for _ in names_in(each)) for each in node.args)
        return bool(node.args) and (is_written or bool(self._loops) or set(names_in(node.args[0])) <= self._counters)

    # What grows

    def visit_For(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if not isinstance(node, ast.While):
            self.visit(node.iter)
            self._held |= set(names_in(node.target))
        ends_soon = not isinstance(node, ast.While) and is_bounded(node.iter)
        targets = () if isinstance(node, ast.While) else names_in(node.target)
        self._loops.append(_Around(ends_soon, frozenset(let_go_in(node)), frozenset(targets)))
        for statement in (*node.body, *node.orelse):
            self.visit(statement)
        self._loops.pop()

    visit_AsyncFor = visit_For
    visit_While = visit_For

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Its loops are its own: what it is called in may be anywhere."""
        before, held = (self._loops, self._function), set(self._held)
        self._loops, self._function = [], node.name
        self.generic_visit(node)
        (self._loops, self._function), self._held = before, held

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice | ast.Constant):
                self._grows(node, dotted(target.value))
            elif isinstance(target, ast.Name) and target.id in set(names_in(node.value)) - self._counters:
                self._changes(node, target.id)  # text = text + line, rows = [*rows, row]
            elif isinstance(target, ast.Tuple) and any(isinstance(each, ast.Starred) for each in target.elts):
                self._gathers(node, [node.value], "an unpacking with *")
            elif self._is_held(node.value):
                self._held |= set(names_in(target))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Subscript):
            if not isinstance(node.target.slice, ast.Constant):
                self._grows(node, dotted(node.target.value))  # counts[word] += 1: a key for every word
        elif isinstance(node.op, ast.Add | ast.BitOr) and not is_number(node.value):
            name = dotted(node.target)
            if name not in self._counters:
                self._grows(node, name)

    def visit_Starred(self, node: ast.Starred) -> None:
        """[*lines], print(*lines): all of them at once."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            self._gathers(node, [node.value], "*")

    def _is_of_one_turn(self, node: ast.expr) -> bool:
        """Made of names that the loop around gives another value at every turn."""
        given = {name for loop in self._loops for name in loop.lets_go | loop.targets} | self._held
        return set(names_in(node)) <= given

    def _is_of_fixed_room(self, node: ast.Call) -> bool:
        """np.empty((shard_size,)), where shard_size begins as a number; np.load(path, mmap_mode='r')."""
        if dotted(node.func) == "np.load":
            return any(keyword.arg == "mmap_mode" for keyword in node.keywords)
        return bool(node.args) and set(names_in(node.args[0])) <= self._counters | {"args", "np", "self"}

    def _changes(self, node: ast.AST, name: str) -> None:
        """A name that is made of itself: it grows, unless every turn gives it another value."""
        if not any(name in loop.targets for loop in self._loops):
            self._grows(node, name)

    def _grows(self, node: ast.AST, name: str) -> None:
        loops = [loop for loop in self._loops if not loop.is_bounded]
        if not loops or name in self._fixed or any(name in loop.lets_go for loop in loops):
            return
        self._doubt(node, f"{name.lstrip('.') or 'something'} grows in a loop, and how often does not show")

    # What is gathered at once

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> None:
        self._held |= {name for each in node.generators for name in names_in(each.target)}
        self.generic_visit(node)
        self._gathers(node, [node.generators[0].iter], "a comprehension")

    visit_SetComp = visit_ListComp
    visit_DictComp = visit_ListComp

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._held |= {name for each in node.generators for name in names_in(each.target)}
        self.generic_visit(node)

    def _gathers(self, node: ast.AST, sources: list[ast.expr], what: str) -> None:
        if any(not self._is_held(source) for source in sources):
            self._doubt(node, f"{what} takes in all that it is given, and how much that is does not show")

    def _is_held(self, node: ast.expr) -> bool:
        """Something that is in memory already, so that going through it gathers nothing new."""
        if is_bounded(node) or isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.JoinedStr):
            return True
        if isinstance(node, ast.Name):
            return node.id in self._held
        if isinstance(node, ast.Subscript | ast.Attribute | ast.Starred):
            return self._is_held(node.value)
        if isinstance(node, ast.GeneratorExp):
            return self._is_held(node.generators[0].iter)
        if isinstance(node, ast.BinOp):
            return self._is_held(node.left) and self._is_held(node.right)
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name.rpartition(".")[2] in (*_NEW_LISTS, *LISTINGS) or name in _ALL_AT_ONCE:
                return True
            parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
            return bool(parts) and all(map(self._is_held, parts))
        return False

    def _doubt(self, node: ast.AST, why: str) -> None:
        self.doubts.append(Doubt(getattr(node, "lineno", 0), why))


def _owner(func: ast.expr) -> str:
    """'rows' of rows.append and of rows[-1].append."""
    owner = func.value if isinstance(func, ast.Attribute) else func
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    return dotted(owner)


def _is_text(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Constant)
