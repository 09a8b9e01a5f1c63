"""Names of a script that hold nothing, whatever is added to them: numbers, progress bars, digests, functions."""

import ast

from memwatch.diagnose.scripts.expressions import dotted, names_in


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
