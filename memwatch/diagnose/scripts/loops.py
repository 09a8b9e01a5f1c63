"""Loops: does one go through the input, and does it let go of what it gathers?"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from memwatch.diagnose.scripts.expressions import dotted, is_for_writing, names_in
from memwatch.diagnose.scripts.kinds import (
    Kind,
    Names,
    is_data,
    is_few,
    is_length_of_data,
    is_load_of,
    kind_of,
    picks_by,
    reads_a_record,
    reads_in_pieces,
)
from memwatch.diagnose.scripts.reading_calls import OPENERS

_GROWING = {"append", "extend", "add"}
_LETTING_GO = {"clear", "pop", "popleft"}


@dataclass(frozen=True, slots=True)
class Loop:
    over_data: bool  # through a file, its pieces, or a dataset
    is_bounded: bool
    lets_go: frozenset[str]  # names that are emptied in it, or whose size ends it
    gives: frozenset[str]  # names that it gives a new value at every turn
    over_files: bool = False  # through the names of many files
    grows: frozenset[str] = frozenset()  # names of lists that take something in
    over_dataset: bool = False
    counters: frozenset[str] = frozenset()  # its number of turns
    targets: frozenset[str] = frozenset()  # the names between for and in: one piece of what it goes through


def loop_of(node: ast.For | ast.AsyncFor | ast.While, names: Names) -> Loop:
    if isinstance(node, ast.While):
        reads = is_length_of_data(node.test, names) or any(
            reads_in_pieces(each, names) or reads_a_record(each, names) for each in ast.walk(node)
        )
        given = {each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)}
        return Loop(
            reads, _is_filled_up_to(node.test, names), frozenset(let_go_in(node)), frozenset(given | _assigned(node))
        )
    gives = frozenset((set(names_in(node.target)) | _assigned(node)) - _counter_of(node))
    ends_soon = is_few(node.iter, names) or _is_ended_by_a_counter(node)
    targets = frozenset(names_in(node.target))
    over_files = kind_of(node.iter, names) == Kind.FILES or (not ends_soon and _names_files(node, targets, names))
    is_dataset = kind_of(node.iter, names) == Kind.DATASET
    is_range = isinstance(node.iter, ast.Call) and dotted(node.iter.func) == "range"
    counters = targets if is_range else frozenset(_counter_of(node))
    let_go, grows = frozenset(let_go_in(node)), frozenset(_grows_in(node))
    is_part = isinstance(node.iter, ast.Subscript) and isinstance(node.iter.slice, ast.Slice)  # for key in keys[:k]
    picks = not is_part and any(picks_by(statement, node, names) for statement in node.body)
    return Loop(
        is_data(node.iter, names) or picks, ends_soon, let_go, gives, over_files, grows, is_dataset, counters, targets
    )


def _is_filled_up_to(test: ast.expr, names: Names) -> bool:
    """while len(made) < number: ends soon; while len(done) < len(rows) does not."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Lt | ast.LtE):
        return False
    is_size = isinstance(test.left, ast.Call) and dotted(test.left.func) == "len"
    return is_size and not is_length_of_data(test.comparators[0], names)


def _counter_of(node: ast.For | ast.AsyncFor) -> set[str]:
    """The i of for i, line in enumerate(f): a number, and no piece of the input."""
    is_counted = isinstance(node.iter, ast.Call) and dotted(node.iter.func) == "enumerate"
    return set(names_in(node.target.elts[0])) if is_counted and isinstance(node.target, ast.Tuple) else set()


def _names_files(node: ast.For | ast.AsyncFor, targets: frozenset[str], names: Names) -> bool:
    """What the loop gives names the files that are read in it: for path in paths: df = pd.read_csv(path)."""
    named = set(targets)
    for each in ast.walk(node):
        if isinstance(each, ast.Assign) and set(names_in(each.value)) & named and _is_name_of_file(each.value, names):
            named |= {name for target in each.targets for name in names_in(target)}
    return any(is_load_of(each, named) or _opens(each, named) for each in ast.walk(node))


def _is_name_of_file(value: ast.expr, names: Names) -> bool:
    """files[i], folder / name, os.path.join(folder, name), f'{folder}/{name}'."""
    if isinstance(value, ast.Subscript):
        return kind_of(value.value, names) in (Kind.FILES, None)
    return isinstance(value, ast.BinOp | ast.JoinedStr) or (
        isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in ("join", "Path", "str", "format")
    )


def _opens(node: ast.AST, named: set[str]) -> bool:
    if not isinstance(node, ast.Call) or dotted(node.func).rpartition(".")[2] not in OPENERS | {"open"}:
        return False
    opened = [*node.args[:1], *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    return not is_for_writing(node) and any(name in named for each in opened for name in names_in(each))


def _is_ended_by_a_counter(loop: ast.For | ast.AsyncFor) -> bool:
    """for i, line in enumerate(f): if i >= 1000: break; or a counter that the loop adds to."""
    counters = {each.target.id for each in ast.walk(loop) if isinstance(each, ast.AugAssign)
                and isinstance(each.target, ast.Name) and isinstance(each.value, ast.Constant)}  # fmt: skip
    if isinstance(loop.target, ast.Tuple) and loop.target.elts and "enumerate" in set(names_in(loop.iter)):
        counters |= set(names_in(loop.target.elts[0]))
    return any(
        isinstance(node, ast.If)
        and any(isinstance(each, ast.Break | ast.Return) for each in node.body)
        and isinstance(node.test, ast.Compare)
        and counters & set(names_in(node.test.left))
        for node in loop.body
    )


def _grows_in(loop: ast.AST) -> Iterator[str]:
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GROWING:
            yield dotted(node.func.value)
        elif isinstance(node, ast.AugAssign):
            yield dotted(node.target)


def _assigned(loop: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and not _is_count(node):
            found |= {name for target in node.targets for name in names_in(target)}
        elif isinstance(node, ast.For):
            found |= set(names_in(node.target))
    return found


def _is_count(node: ast.Assign) -> bool:
    """n = n + 1, n = 0, n = len(x): a number, and no piece of the input."""
    value = node.value
    if isinstance(value, ast.BinOp):
        return isinstance(value.right, ast.Constant) and set(names_in(value.left)) == set(names_in(node.targets[0]))
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and dotted(value.func) == "len")


def let_go_in(loop: ast.AST) -> set[str]:
    """Names that a loop empties, or whose size ends it: x = [], x = x[n:], x.clear(), del x[:], if len(x) > n: break"""
    found: set[str] = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                found |= _let_go_by(target, node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LETTING_GO:
            found.add(dotted(node.func.value))
        elif isinstance(node, ast.Delete):
            found |= {name for target in node.targets for name in (*names_in(target), _base(target))}
        elif isinstance(node, ast.If) and any(isinstance(each, ast.Break | ast.Return) for each in node.body):
            found |= _measured(node.test)
    return found


def _let_go_by(target: ast.expr, value: ast.expr) -> set[str]:
    """x = [], self.x = [], and x, n = [], 0."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
        return {name for each, its_value in pairs for name in _let_go_by(each, its_value)}
    name = dotted(target) if isinstance(target, ast.Name | ast.Attribute) else ""
    return {name} if name and _lets_go_of(name, value) else set()


def _lets_go_of(name: str, value: ast.expr) -> bool:
    """It becomes something else, or a part of what it was."""
    if "." in name:
        return isinstance(value, ast.Subscript) or all(
            dotted(each) != name for each in ast.walk(value) if isinstance(each, ast.Attribute)
        )
    return isinstance(value, ast.Subscript) or name not in set(names_in(value))


def _measured(test: ast.expr) -> set[str]:
    """The x of len(x) in a test."""
    calls = [node for node in ast.walk(test) if isinstance(node, ast.Call) and dotted(node.func) == "len" and node.args]
    return {name for call in calls for name in (*names_in(call.args[0]), _base(call.args[0]))}


def _base(node: ast.expr) -> str:
    """'self.rows' of self.rows[:10]."""
    return _base(node.value) if isinstance(node, ast.Subscript) else dotted(node)
