"""What grows in a loop whose length does not show, and is then saved in one call: that is a dataset, held whole.

`read.py` knows loops that go through the input by what they go through. A loop over a parameter or a data loader shows
nothing; but a list that takes in a piece at every turn, and goes into np.save, json.dump or a data frame at the end,
grew with the input.

    feats = []
    for batch in loader:
        feats.append(model(batch).numpy())          # found, because of
    np.save("feats.npy", np.concatenate(feats))     # this
"""

import ast
from collections.abc import Iterable, Iterator

from memwatch.diagnose.scripts.expressions import (
    WRAPPERS,
    dotted,
    is_bounded,
    is_empty,
    is_plain,
    is_saving,
    kept_in,
    names_in,
)
from memwatch.diagnose.scripts.hits import Pattern
from memwatch.diagnose.scripts.library_calls import ARRAYS
from memwatch.diagnose.scripts.loops import let_go_in
from memwatch.diagnose.scripts.own_functions import Function, functions_per_piece
from memwatch.diagnose.scripts.reading_calls import OF_PARTS

_SAVES = frozenset(
    """
    save savez savez_compressed savetxt dump to_csv to_parquet to_json to_pickle to_feather to_hdf save_to_disk
    push_to_hub writerows
    """.split()  # noqa: SIM905
)
_GROWS = {"append", "extend", "add", "insert", "update"}
_OF_FEW = {"items", "keys", "values", "split", "splitlines", "most_common", "range", "columns", "groups"}
_NEW = {"list", "dict", "set", "defaultdict", "OrderedDict", "deque"}


def saved_whole(tree: ast.Module) -> list[tuple[ast.AST, Pattern]]:
    """The nodes that take in a piece, and those that copy all of it."""
    repeated = functions_per_piece(tree)
    scopes: list[ast.Module | Function] = [tree]
    scopes += [node for node in ast.walk(tree) if isinstance(node, Function) and node.name not in repeated]
    return [found for scope in scopes for found in _in_scope(list(_own_nodes(scope)))]


def _in_scope(nodes: list[ast.AST]) -> Iterator[tuple[ast.AST, Pattern]]:
    born = {name: value for name, value in _assigned(nodes) if _is_new(value)}
    few = {name for name, value in _assigned(nodes) if is_bounded(value) and not is_empty(value)}
    loops = [node for node in nodes if isinstance(node, ast.For | ast.AsyncFor)]
    inside = {outer: {each for each in ast.walk(outer) if each is not outer} for outer in loops}
    let_go = {loop: let_go_in(loop) for loop in loops}
    mentioned = {loop: set(names_in(loop)) for loop in loops}
    grown = {
        (name, loop): list(_growth(loop, name, few))
        for name in born
        for loop in loops
        if name.partition(".")[0] in mentioned[loop]
        and not any(loop in inside[outer] and name in let_go[outer] for outer in loops)
    }
    copies = {name: _saved(nodes, name) for name in born}
    # One list that is saved shows what its loop goes through; whatever else grows in it grows as much.
    proven = {loop for (name, loop), found in grown.items() if found and copies[name] is not None}
    for (name, loop), found in grown.items():
        if loop in proven:
            yield from ((node, Pattern.RECORD_LIST) for node in found)
            yield from ((node, Pattern.LIST_TO_ARRAY) for node in copies[name] or () if found)


def _growth(loop: ast.For | ast.AsyncFor, name: str, few: set[str]) -> Iterator[ast.AST]:
    """Statements of the loop by which `name` takes in something that the loop gives."""
    if not _is_open(loop.iter, few) or name in let_go_in(loop):
        return
    given = set(names_in(loop.target))
    if isinstance(loop.iter, ast.Call) and dotted(loop.iter.func) == "enumerate" and isinstance(loop.target, ast.Tuple):
        given -= set(names_in(loop.target.elts[0]))
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and given & set(names_in(node.value)):
            given |= {
                each for target in node.targets if isinstance(target, ast.Name | ast.Tuple) for each in names_in(target)
            }
        elif isinstance(node, ast.For) and given & set(names_in(node.iter)):
            given |= set(names_in(node.target))
    given.discard(name)
    yield from (node for node in _mostly_run(loop) if _taken_in(node, name, given))


def _mostly_run(node: ast.AST) -> Iterator[ast.AST]:
    """What is in it, without what stands behind a test that few pieces pass."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.If) and not is_plain(each.test):
            yield from (inner for statement in each.orelse for inner in (statement, *_mostly_run(statement)))
        else:
            yield each
            yield from _mostly_run(each)


def _taken_in(node: ast.AST, name: str, given: set[str]) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GROWS:
        values: Iterable[ast.expr] = node.args
        owner = node.func.value
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        values, owner = [node.value], node.target
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        values, owner = [node.value], node.targets[0].value
    else:
        return False
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    return dotted(owner) == name and any(_is_piece(value, given) for value in values)


def _is_piece(value: ast.expr, given: set[str]) -> bool:
    """Made of what the loop gives; a count or a number of it is no piece."""
    return any(isinstance(each, ast.Name) and each.id in given for each in kept_in(value))


def _saved(nodes: list[ast.AST], name: str) -> list[ast.Call] | None:
    """The copies that are made of it on its way into a file; None if it is not saved in one call."""
    made = {name}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and made & set(_direct(node.value)):
            made |= {each for target in node.targets for each in names_in(target)}
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    copies = [node for node in calls if dotted(node.func) in ARRAYS | OF_PARTS and made & set(_direct(node))]
    saves = [node for node in calls if dotted(node.func).rpartition(".")[2] in _SAVES]
    own = [node for node in calls if is_saving(node) and "_" in dotted(node.func)]  # save_to_jsonl(rows), not f.write
    is_saved = any(made & set(names_in(save)) for save in saves) or any(made & set(_direct(save)) for save in own)
    return copies if is_saved else None


def _direct(call: ast.Call) -> Iterator[str]:
    """Names that a call is given as they are, and what its method is called on: pd.DataFrame(rows), df.drop(...)."""
    yield from (each.id for each in call.args if isinstance(each, ast.Name))
    yield from (each.id for argument in call.args if isinstance(argument, ast.Dict)
                for each in argument.values if isinstance(each, ast.Name))  # fmt: skip
    yield from names_in(call.func)
    yield from (name for each in call.args if isinstance(each, ast.Call) for name in _direct(each))


def _is_open(node: ast.expr, few: set[str]) -> bool:
    """Nothing shows that a loop over it ends soon."""
    while isinstance(node, ast.Call) and dotted(node.func) in WRAPPERS and node.args:
        node = node.args[0]
    if is_bounded(node) or (isinstance(node, ast.Name) and node.id in few):
        return False
    if isinstance(node, ast.Call):
        return dotted(node.func).rpartition(".")[2] not in _OF_FEW
    return isinstance(node, ast.Name | ast.Attribute)


def _assigned(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    for node in nodes:
        if isinstance(node, ast.Assign):
            targets = node.targets
            if isinstance(targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from (
                    (dotted(each), value) for each, value in zip(targets[0].elts, node.value.elts, strict=False)
                )
            else:
                yield from ((dotted(target), node.value) for target in targets if dotted(target))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield dotted(node.target), node.value


def _is_new(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return dotted(value.func).rpartition(".")[2] in _NEW and not any(is_bounded(each) for each in value.args)
    return is_empty(value) or (isinstance(value, ast.Dict) and all(is_empty(each) for each in value.values))


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Of a function or the module, without the functions and classes in it."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            yield node
            yield from _own_nodes(node)
