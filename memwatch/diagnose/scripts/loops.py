"""Loops: does one go through the input, and does it let go of what it gathers?"""

import ast
from dataclasses import dataclass

from memwatch.diagnose.scripts.kinds import Names, dotted, is_bounded, is_data, names_in, reads_in_pieces

_LETTING_GO = {"clear", "pop", "popleft"}


@dataclass(frozen=True, slots=True)
class Loop:
    over_data: bool  # through a file, its pieces, or a dataset
    is_bounded: bool
    lets_go: frozenset[str]  # names that are emptied in it, or whose size ends it
    gives: frozenset[str]  # names that it gives a new value at every turn


def loop_of(node: ast.For | ast.AsyncFor | ast.While, names: Names) -> Loop:
    if isinstance(node, ast.While):
        reads = any(reads_in_pieces(each, names) for each in ast.walk(node))
        given = {each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)}
        return Loop(reads, False, frozenset(_lets_go(node)), frozenset(given | _assigned(node)))
    gives = frozenset(set(names_in(node.target)) | _assigned(node))
    return Loop(is_data(node.iter, names), is_bounded(node.iter), frozenset(_lets_go(node)), gives)


def _assigned(loop: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            found |= {name for target in node.targets for name in names_in(target)}
        elif isinstance(node, ast.For):
            found |= set(names_in(node.target))
    return found


def _lets_go(loop: ast.AST) -> set[str]:
    """x = [], x = x[n:], x.clear(), del x[:], and 'if len(x) > n: break'."""
    found: set[str] = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found |= {name for name in targets if _lets_go_of(name, node.value)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LETTING_GO:
            found.add(dotted(node.func.value))
        elif isinstance(node, ast.Delete):
            found |= {name for target in node.targets for name in names_in(target)}
        elif isinstance(node, ast.If) and any(isinstance(each, ast.Break | ast.Return) for each in node.body):
            found |= _measured(node.test)
    return found


def _lets_go_of(name: str, value: ast.expr) -> bool:
    """It becomes something else, or a part of what it was."""
    return isinstance(value, ast.Subscript) or name not in set(names_in(value))


def _measured(test: ast.expr) -> set[str]:
    """The x of len(x) in a test."""
    calls = [node for node in ast.walk(test) if isinstance(node, ast.Call) and dotted(node.func) == "len" and node.args]
    return {name for call in calls for name in names_in(call.args[0])}
