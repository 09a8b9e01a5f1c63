"""Rewrites a script that gathers all tokens in a list so that it streams them to the file that it writes at the end.

Only for what is certain: a list that is filled in a loop, made into an array once, and written with tofile. A small
class takes the list's place: it has extend, append and len, and writes as it goes. The rest is refused in one sentence.

    tokens = []                                   tokens = _TokenFile('train.bin', np.uint16)
    for line in f:                                for line in f:
        tokens.extend(enc.encode(line))               tokens.extend(enc.encode(line))
    arr = np.array(tokens, dtype=np.uint16)       arr = tokens
    arr.tofile('train.bin')                       arr.close()
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from memwatch.diagnose.scripts.expressions import dotted, keyword_of, names_in
from memwatch.diagnose.scripts.hits import Pattern
from memwatch.diagnose.scripts.read import read_script

_OF_LIST = (Pattern.TOKEN_LIST, Pattern.LIST_TO_ARRAY)
_GATHERING = {"extend", "append"}
_HELPER = '''
class _TokenFile:
    """Takes the place of a list of tokens: writes them to the file at once. Added by `memwatch diagnose --fix`."""

    def __init__(self, path, dtype):
        import os

        self.path, self.dtype, self.size, self._held = os.fspath(path), dtype, 0, []
        self._file = open(self.path + ".partial", "wb")

    def extend(self, tokens):
        self._held.extend(tokens)
        if len(self._held) >= 65536:
            self._write()

    def append(self, token):
        self.extend((token,))

    def __iadd__(self, tokens):
        self.extend(tokens)
        return self

    def __len__(self):
        return self.size + len(self._held)

    def _write(self):
        {numpy}.{convert}.tofile(self._file)
        self.size += len(self._held)
        self._held = []

    def close(self):
        import os

        self._write()
        self._file.close()
        os.replace(self.path + ".partial", self.path)
'''


class NotSure(Exception):  # Not a failure: the answer to whether it can be rewritten.
    """Why a script is not rewritten, in one sentence."""


@dataclass(frozen=True, slots=True)
class _Edit:
    begin: tuple[int, int]  # line from 0, and column in bytes
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class _Gathering:
    """A list, from its creation to the file."""

    name: str
    created: ast.Assign
    conversion: ast.Call  # np.array(tokens, dtype=...), or that with .astype(...)
    write: ast.Call  # arr.tofile(path)
    array: str | None  # the name of the array; None if it is written without one
    dtype: ast.expr
    is_cast: bool  # by astype
    numpy: str


def streamed_source(source: str) -> str:
    """The rewritten script. Raises NotSure, and SyntaxError where it is not Python."""
    tree = ast.parse(source)
    hits = read_script(source)
    if not any(hit.pattern == Pattern.TOKEN_LIST for hit in hits):
        raise NotSure("it has no list that gathers all tokens, which is all that --fix rewrites")
    other = next((hit for hit in hits if hit.pattern not in _OF_LIST), None)
    if other is not None:
        raise NotSure(f"line {other.line} holds {other.holds.partition(',')[0]} as well; change that by hand first")
    found = [_gathering(tree, block, index) for block, index in _created_lists(tree, {hit.line for hit in hits})]
    if not found:
        raise NotSure("the list is not created with [] in the same function that fills it")
    edits = [edit for each in found for edit in _edits(each, source)]
    convert = {_conversion(each) for each in found}
    if len(convert) > 1:
        raise NotSure("its lists become arrays in different ways")
    helper = _HELPER.format(numpy=found[0].numpy, convert=convert.pop())
    return _applied(source, [*edits, _helper_edit(tree, helper)])


def _created_lists(tree: ast.Module, lines: set[int]) -> Iterator[tuple[list[ast.stmt], int]]:
    """(block, index) of each `name = []` whose list grows in a line that was found."""
    for node in ast.walk(tree):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if not isinstance(block, list):
                continue
            for index, statement in enumerate(block):
                if not (isinstance(statement, ast.Assign) and _is_empty_list(statement.value)):
                    continue
                if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
                    continue
                name = statement.targets[0].id
                if any(use.lineno in lines for later in block[index + 1 :] for use in _uses(later, name)):
                    yield block, index


def _gathering(tree: ast.Module, block: list[ast.stmt], index: int) -> _Gathering:
    created = block[index]
    assert isinstance(created, ast.Assign)
    assert isinstance(created.targets[0], ast.Name)
    name = created.targets[0].id
    later = block[index + 1 :]
    conversions = [call for statement in later for call in _calls(statement) if _converted(call) == name]
    if len(conversions) != 1:
        raise NotSure(f"{name} is not made into an array exactly once, with np.array and a dtype")
    numpy, dtype, is_cast, whole = _numpy_call(tree, conversions[0], later)
    holder = next((each for each in later if isinstance(each, ast.Assign) and each.value is whole), None)
    if holder is not None and not (len(holder.targets) == 1 and isinstance(holder.targets[0], ast.Name)):
        raise NotSure(f"line {holder.lineno} keeps the array of {name} under more than one name")
    array = holder.targets[0].id if holder is not None and isinstance(holder.targets[0], ast.Name) else None
    write = _write_of(later, whole, array, name)
    found = _Gathering(name, created, whole, write, array, dtype, is_cast, numpy)
    _check_uses(tree, found)
    _check_path(tree, found)
    return found


def _converted(call: ast.Call) -> str | None:
    """The name of the list that np.array(...) is given."""
    is_array = dotted(call.func).rpartition(".")[2] in ("array", "asarray")
    return call.args[0].id if is_array and call.args and isinstance(call.args[0], ast.Name) else None


def _numpy_call(tree: ast.Module, call: ast.Call, later: list[ast.stmt]) -> tuple[str, ast.expr, bool, ast.Call]:
    """(numpy's name, dtype, whether by astype, the whole expression)."""
    numpy = dotted(call.func).rpartition(".")[0]
    imported = {
        each.asname or each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for each in node.names
        if each.name == "numpy"
    }
    if numpy not in imported:
        raise NotSure("numpy is not imported as a module")
    dtype = keyword_of(call, "dtype") or (call.args[1] if len(call.args) > 1 else None)
    if dtype is not None:
        return numpy, dtype, False, call
    for statement in later:
        for each in _calls(statement):
            is_astype = isinstance(each.func, ast.Attribute) and each.func.attr == "astype" and each.func.value is call
            if is_astype and each.args:
                return numpy, each.args[0], True, each
    raise NotSure(f"line {call.lineno} makes the array without a dtype")


def _write_of(later: list[ast.stmt], whole: ast.Call, array: str | None, name: str) -> ast.Call:
    """The only arr.tofile(path), in the block in which the list is created."""
    writes = []
    for statement in later:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "tofile"):
            continue
        owner = call.func.value
        if owner is whole or (array is not None and isinstance(owner, ast.Name) and owner.id == array):
            writes.append(call)
    if len(writes) != 1 or len(writes[0].args) != 1 or writes[0].keywords:
        raise NotSure(f"the array of {name} is not written exactly once with tofile(path), beside the list's creation")
    return writes[0]


def _check_uses(tree: ast.Module, found: _Gathering) -> None:
    """Nothing else may need the list, or the array, as a whole."""
    allowed = {id(found.created.targets[0])}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in _GATHERING:
                allowed.add(id(node.func.value))
            if dotted(node.func) == "len":
                allowed |= {id(each) for each in node.args}
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            allowed.add(id(node.target))
    allowed |= {id(each) for each in ast.walk(found.conversion)}
    assert isinstance(found.write.func, ast.Attribute)
    allowed.add(id(found.write.func.value))
    for name in filter(None, (found.name, found.array)):
        for use in _uses(tree, name):
            is_holder = isinstance(use.ctx, ast.Store) and name == found.array
            is_deleted = isinstance(use.ctx, ast.Del) and name != found.array and found.array is not None
            if id(use) not in allowed and not is_holder and not is_deleted:
                raise NotSure(f"line {use.lineno} uses {name} as a whole")
        if sum(isinstance(use.ctx, ast.Store) for use in _uses(tree, name)) > 1 + _augmented(tree, name):
            raise NotSure(f"{name} is assigned more than once")


def _augmented(tree: ast.Module, name: str) -> int:
    targets = [node.target for node in ast.walk(tree) if isinstance(node, ast.AugAssign)]
    return sum(isinstance(target, ast.Name) and target.id == name for target in targets)


def _check_path(tree: ast.Module, found: _Gathering) -> None:
    """The path must be known where the list is created, which is before it is written now."""
    path = found.write.args[0]
    for name in (*names_in(path), *names_in(found.dtype)):
        stores = [use.lineno for use in _uses(tree, name) if isinstance(use.ctx, ast.Store)]
        if any(line >= found.created.lineno for line in stores):
            raise NotSure(f"the path or the dtype of line {found.write.lineno} is computed after the list is created")
    if any(isinstance(each, ast.Call) and dotted(each.func) == "open" for each in ast.walk(path)):
        raise NotSure(f"line {found.write.lineno} writes to an open file, not to a path")


def _conversion(found: _Gathering) -> str:
    return "array(self._held).astype(self.dtype)" if found.is_cast else "array(self._held, dtype=self.dtype)"


def _edits(found: _Gathering, source: str) -> Iterator[_Edit]:
    path = ast.get_source_segment(source, found.write.args[0])
    dtype = ast.get_source_segment(source, found.dtype)
    yield _replaced(found.created.value, f"_TokenFile({path}, {dtype})")
    if found.array is None:
        yield _replaced(found.write, f"{found.name}.close()")
    else:
        yield _replaced(found.conversion, found.name)
        yield _replaced(found.write, f"{found.array}.close()")


def _replaced(node: ast.expr, text: str) -> _Edit:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return _Edit((node.lineno - 1, node.col_offset), (node.end_lineno - 1, node.end_col_offset), text)


def _helper_edit(tree: ast.Module, helper: str) -> _Edit:
    """After the imports at the top, or the docstring."""
    last = 0
    for statement in tree.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not isinstance(statement, ast.Import | ast.ImportFrom) and not is_text:
            break
        last = statement.end_lineno or statement.lineno
    return _Edit((last, 0), (last, 0), f"\n{helper}" if last else f"{helper.lstrip()}\n\n")


def _applied(source: str, edits: list[_Edit]) -> str:
    lines = source.encode().splitlines(keepends=True)
    lines.append(b"")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    text = b"".join(lines)
    for edit in sorted(edits, key=lambda each: each.begin, reverse=True):
        begin, end = (starts[line] + column for line, column in (edit.begin, edit.end))
        text = text[:begin] + edit.text.encode() + text[end:]
    return text.decode()


def _is_empty_list(node: ast.expr) -> bool:
    is_call = isinstance(node, ast.Call) and dotted(node.func) == "list" and not node.args
    return is_call or (isinstance(node, ast.List) and not node.elts)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Call))


def _uses(node: ast.AST, name: str) -> list[ast.Name]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == name]
