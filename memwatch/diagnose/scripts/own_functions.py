"""Functions and classes of a script: what they are called with, and which of them get one piece of the input at a time.

for path in paths:                 # read_one and clean get one file at a time, of which they may hold all
    rows = clean(read_one(path))
pool.imap(read_one, paths)         # so here
load("train.json")                 # not so here: this is the input
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from memwatch.diagnose.scripts.expressions import dotted, is_bounded, is_literal, names_in

Function = ast.FunctionDef | ast.AsyncFunctionDef
_MAPPING = frozenset(
    """
    map imap imap_unordered starmap starmap_async map_async apply_async submit process_map thread_map delayed apply
    filter run_in_executor parallel_apply progress_apply map_partitions mapPartitions flatMap to_thread partial
    """.split()  # noqa: SIM905
)
_BY_ITEM = {"__getitem__", "__next__", "collate_fn", "forward", "training_step"}  # called by a data loader, for each


@lru_cache(maxsize=1)  # of the script that is being read, in several passes
def parameters_in(tree: ast.Module) -> dict[str, list[str]]:
    """The parameters of every function by its name, and of a class by its own: Corpus(path) is given to __init__."""
    found = {node.name: _parameters(node) for node in ast.walk(tree) if isinstance(node, Function)}
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    makers = {node.name: each for node in classes for each in node.body if isinstance(each, Function)
              and each.name == "__init__"}  # fmt: skip
    found |= {name: _parameters(maker) for name, maker in makers.items()}
    return found


def _parameters(node: Function) -> list[str]:
    return [each.arg for each in (*node.args.args, *node.args.kwonlyargs) if each.arg not in ("self", "cls")]


@lru_cache(maxsize=1)
def functions_per_piece(tree: ast.Module) -> frozenset[str]:
    """Own functions that are only ever used for one piece of many: in a loop, or by name in a map."""
    own = {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}
    few = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and is_literal(node.value)
        for target in node.targets
        for name in names_in(target)
    }
    uses = {name: list[tuple[bool, str | None]]() for name in own}
    for name, is_repeated, user in _uses(tree, few, False, None):
        if name in uses:
            uses[name].append((is_repeated, user))
    found = {name for name in own if name in _BY_ITEM}
    while True:
        more = {
            name
            for name, each in uses.items()
            if name not in found and each and all(is_repeated or user in found for is_repeated, user in each)
        }
        if not more:
            return frozenset(found)
        found |= more


def _uses(
    node: ast.AST, few: set[str], is_repeated: bool, function: str | None
) -> Iterator[tuple[str, bool, str | None]]:
    """Names of functions where they are called or passed on: is it once a turn of a loop, and in which function?"""
    if isinstance(node, ast.Call):
        called = dotted(node.func).rpartition(".")[2]
        yield called, is_repeated, function
        maps = called in _MAPPING and not any(_is_few(each, few) for each in node.args[1:])
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(each, ast.Name | ast.Attribute):
                yield dotted(each).rpartition(".")[2], is_repeated or maps, function
    if isinstance(node, Function):
        is_repeated, function = False, node.name
    if isinstance(node, ast.For | ast.AsyncFor):
        yield from _uses(node.iter, few, is_repeated, function)
        is_repeated = is_repeated or not _is_few(node.iter, few)
        for statement in (*node.body, *node.orelse):
            yield from _uses(statement, few, is_repeated, function)
        return
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        yield from _uses(node.generators[0].iter, few, is_repeated, function)
        is_repeated = is_repeated or not _is_few(node.generators[0].iter, few)
        for part in ast.walk(node):
            if isinstance(part, ast.comprehension) and part is not node.generators[0]:
                yield from _uses(part.iter, few, is_repeated, function)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            yield from _uses(part, few, is_repeated, function)
        return
    is_repeated = is_repeated or isinstance(node, ast.While) or (isinstance(node, ast.Lambda) and bool(node.args.args))
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, few, is_repeated, function)


def _is_few(node: ast.expr, few: set[str]) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "values"):
        node = node.func.value
    return is_bounded(node) or (isinstance(node, ast.Name) and node.id in few)
