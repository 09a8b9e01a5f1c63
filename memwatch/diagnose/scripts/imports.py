"""Names as this package knows them, whatever a script calls its modules: `import pandas as pnd`."""

import ast

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
