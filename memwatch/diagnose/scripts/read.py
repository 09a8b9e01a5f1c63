"""Goes through a script in the order in which it runs, and notes the lines that hold everything in memory.

Careful rather than complete: a list that is emptied on the way, one document's tokens, a vocabulary or a config file
are passed over, and so is what cannot be told from the source.
"""

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from memwatch.diagnose.scripts.clearance import Doubt, doubts_in
from memwatch.diagnose.scripts.expressions import (
    dotted,
    has_encoder,
    is_encoder,
    is_plain,
    is_saving,
    kept_in,
    names_in,
    with_usual_names,
)
from memwatch.diagnose.scripts.hits import WORDS, Hit, NotFollowed, Pattern
from memwatch.diagnose.scripts.kinds import (
    HELD,
    Kind,
    goes_through_files,
    holds_all,
    is_data,
    is_join_of,
    is_room_for,
    is_whole_read,
    kind_of,
    takes_everything,
)
from memwatch.diagnose.scripts.library_calls import MODEL, pattern_of_call
from memwatch.diagnose.scripts.own_functions import functions_per_piece, parameters_in
from memwatch.diagnose.scripts.reading_calls import OF_PARTS, is_loader
from memwatch.diagnose.scripts.saved_whole import saved_whole
from memwatch.diagnose.scripts.scopes import Given, ScopeVisitor

MOST_HITS = 50
MOST_PASSES = 4  # of own functions that call each other, which have all been seen to settle in three
SOURCE_CHARACTERS = 100

_MAKERS = {"array", "asarray", "fromstring", "tensor", "loads", "split", "list", "tuple", "dict", "copy", "float"}
_GIVEN = (
    Kind.FILE, Kind.WHOLE, Kind.TOKENS, Kind.DATASET, Kind.STREAM, Kind.TABLE, Kind.EMPTY, Kind.EMPTY_LISTS,
    Kind.EMPTY_MAP, Kind.FEW, Kind.FILES,
)  # fmt: skip
# Harmless in a function that gets one file at a time; a parquet file is packed, so that one of many is large by itself.
_OF_ONE_PIECE = {Pattern.WHOLE_TABLE, Pattern.WHOLE_JSON, Pattern.WHOLE_XML, Pattern.WHOLE_ARRAY, Pattern.WHOLE_SPLIT}
_FILLED = (Kind.EMPTY_MAP, Kind.EMPTY_LISTS, Kind.TOKENS)
# Columns of a dataset, which come as a list of everything; "train" is a split.
_COLUMNS = {"text", "content", "input_ids", "sentence", "document", "article", "prompt", "messages", "tokens"}


@dataclass(frozen=True, slots=True)
class ScriptReading:
    """What a script holds, by line, and what could not be told: without the second, no hits would mean too much."""

    hits: list[Hit]
    not_followed: list[NotFollowed]

    @property
    def is_all_clear(self) -> bool:
        """Nothing was found, and nothing is in doubt."""
        return not self.hits and not self.not_followed


def read_script(source: bytes | str) -> list[Hit]:
    return follow_script(source).hits


def follow_script(source: bytes | str) -> ScriptReading:
    """Raises SyntaxError, ValueError, RecursionError or MemoryError where it is not Python that can be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # An invalid escape in somebody's script is not our business.
        tree = with_usual_names(ast.parse(source))
    text = source.decode(errors="replace") if isinstance(source, bytes) else source
    reader = _Reader(text.splitlines(), tree, {}, {})
    reader.visit(tree)
    for _ in range(MOST_PASSES):
        # Own functions are followed: what calls give them and what they return, also where it is written further down.
        before = reader
        reader = _Reader(text.splitlines(), tree, before.given, before.returned)
        reader.visit(tree)
        if (reader.given, reader.returned) == (before.given, before.returned):
            break
    seen = {hit.line for hit in reader.hits}
    for node, pattern in saved_whole(tree):
        if getattr(node, "lineno", 0) not in seen:
            reader.note(pattern, node)
    hits = {(hit.line, hit.pattern): hit for hit in reader.hits}
    told = {hit.line for hit in hits.values()}
    unsure = reader.not_followed if hits else [*map(reader.not_followed_at, doubts_in(tree)), *reader.not_followed]
    left = {each.line: each for each in unsure if each.line not in told}
    return ScriptReading(
        sorted(hits.values(), key=lambda hit: hit.line)[:MOST_HITS],
        sorted(left.values(), key=lambda each: each.line)[:MOST_HITS],
    )


class _Reader(ScopeVisitor):
    def __init__(self, lines: list[str], tree: ast.Module, given: Given, returned: Mapping[str, Kind]) -> None:
        super().__init__(given, returned, functions_per_piece(tree))
        self._lines = lines
        self._parameters = parameters_in(tree)
        self._discarded: ast.expr | None = None
        self._made_of: dict[str, ast.expr] = {}  # what a name was last given
        self._has_model = any(
            isinstance(each, ast.Attribute) and each.attr == "load_state_dict" for each in ast.walk(tree)
        )
        self.hits: list[Hit] = []
        self.not_followed: list[NotFollowed] = []
        self.given: dict[tuple[str, str], Kind] = {}

    def visit_Assign(self, node: ast.Assign) -> None:
        is_one_file = self._is_one_file
        target = node.targets[0]
        grows = isinstance(target, ast.Name) and target.id in set(names_in(node.value))  # text = text + f.read()
        self._is_one_file = isinstance(target, ast.Name) and not grows and any(loop.over_files for loop in self._loops)
        self.visit(node.value)
        self._is_one_file = is_one_file
        if is_room_for(node.value, self._names):
            self.note(Pattern.RECORD_LIST, node)
        self._note_join(node.value)
        if isinstance(node.targets[0], ast.Name):
            self._made_of[node.targets[0].id] = node.value
        self._grown_by_sum(node)
        self._array_growth(node)
        for target in node.targets:
            self._bind(target, node.value)
            if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
                self._filled(node, dotted(target.value), node.value)

    def visit_Return(self, node: ast.Return) -> None:
        super().visit_Return(node)
        if node.value is not None:
            self._note_join(node.value)

    def _note_join(self, value: ast.expr) -> None:
        if is_join_of(value, HELD, self._names):
            self.note(Pattern.WHOLE_TEXT, value)

    def _filled(self, node: ast.AST, name: str, value: ast.expr) -> None:
        """records[key] = record, in a loop over the input: a dict of everything."""
        is_made = isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in _MAKERS
        is_new = isinstance(value, ast.Dict) or (
            (is_made or isinstance(value, ast.Name | ast.Subscript | ast.Tuple | ast.ListComp))
            and any(each in self._given() for each in names_in(value))
        )
        is_of_file = self._is_of_one_file(value) or kind_of(value, self._names) == Kind.ENCODED  # texts[name] = tokens
        is_file = is_of_file and any(loop.over_files for loop in self._loops)
        if is_new and self._names.get(name) in _FILLED and (self._is_through_all(name) or is_file):
            self.note(Pattern.RECORD_LIST, node)
            self._names[name] = Kind.TOKENS

    def _given(self) -> frozenset[str]:
        return self._loops[-1].gives if self._loops else frozenset()

    def _is_through_all(self, name: str) -> bool:
        """Inside a loop over the input that neither ends soon nor empties `name`."""
        if any(name in loop.lets_go for loop in self._loops):
            return False
        return any(loop.over_data and not loop.is_bounded for loop in self._loops)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name | ast.Attribute) and isinstance(node.op, ast.Add):
            self._gathered(node, dotted(node.target), [node.value])

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self.generic_visit(node)
        if holds_all(node, self._names):
            self.note(Pattern.TOKEN_LIST if has_encoder(node) else Pattern.RECORD_LIST, node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        """{row['id']: row for row in rows}: every record once more; a number for each is no record."""
        self.generic_visit(node)
        first = node.generators[0]
        targets = set(names_in(first.target))
        if isinstance(first.iter, ast.Call) and dotted(first.iter.func) == "enumerate":
            return
        if is_data(first.iter, self._names) and isinstance(node.value, ast.Name) and node.value.id in targets:
            self.note(Pattern.RECORD_LIST, node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        """(pd.read_csv(path) for path in paths): one file at a time, until something takes them all."""
        before, self._is_one_file = self._is_one_file, self._is_one_file or goes_through_files(node, self._names)
        self.generic_visit(node)
        self._is_one_file = before

    def visit_Expr(self, node: ast.Expr) -> None:
        """pool.map(write, files), and nothing is kept of what it returns."""
        self._discarded = node.value
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = dotted(node.func)
        self._note_given(node, name.rpartition(".")[2])
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        alias, _, of_alias = self._aliases.get(name, "").rpartition(".")
        if of_alias in ("extend", "append") and alias:
            self._gathered(node, alias, node.args)
        elif isinstance(node.func, ast.Attribute) and (
            method in ("extend", "append") or (method == "add" and self._is_record(node.args))
        ):
            owner = node.func.value
            if isinstance(owner, ast.IfExp):
                owner = owner.body  # (train if test else val).append(line): one of them takes it in
            if (
                isinstance(owner, ast.Call)
                and isinstance(owner.func, ast.Attribute)
                and owner.func.attr == "setdefault"
            ):
                owner = owner.func.value  # groups.setdefault(key, []).append(row)
            while isinstance(owner, ast.Subscript):
                owner = owner.value  # groups[key].append(row), groups[key][i].append(row)
            if dotted(owner):
                self._gathered(node, self._aliases.get(dotted(owner), dotted(owner)), node.args)
        elif method == "update" and self._names.get(_owner_of(node)) in _FILLED:
            if any(map(self._is_of_one_file, node.args)):
                self.note(Pattern.RECORD_LIST, node)  # all.update(json.load(f)), for each file
        elif is_whole_read(node, self._names):
            if not (self._is_one_file or self._is_per_piece):
                self.note(Pattern.WHOLE_LINES if method == "readlines" else Pattern.WHOLE_READ, node)
        elif is_encoder(node) and self._encodes_all(node, name):
            self.note(Pattern.WHOLE_ENCODE, node)
        else:
            pattern = pattern_of_call(node, self._names, self._is_one_file)
            is_data_load = name == "torch.load" and not self._is_one_file and not self._has_model
            if pattern is None and is_data_load and _is_named_data(node):
                pattern = Pattern.WHOLE_ARRAY
            is_of_file = self._is_one_file and pattern == Pattern.WHOLE_SPLIT and self._reads(node.func)
            if is_of_file or (self._is_per_piece and pattern in _OF_ONE_PIECE):
                pattern = None
            if pattern is not None and not (pattern == Pattern.WORKER_RESULTS and node is self._discarded):
                self.note(pattern, node)

    def _encodes_all(self, node: ast.Call, name: str) -> bool:
        """Of an own function, as far as it makes a list of everything out of a text."""
        if self._is_per_piece:
            return False
        if name not in self._parameters:
            return takes_everything(node, self._names)
        is_of_text = any(kind_of(each, self._names) == Kind.WHOLE for each in node.args)
        return is_of_text and self._names.get(f"{name}()") == Kind.TOKENS

    def _note_given(self, node: ast.Call, function: str) -> None:
        """What a call gives to a function of the script; a part of something (text[a:b]) is not all of it."""
        parameters = self._parameters.get(function, [])
        given = [*zip(parameters, node.args, strict=False), *((each.arg, each.value) for each in node.keywords)]
        for parameter, value in given:
            kind = None if self._is_part(value) else kind_of(value, self._names)
            if kind in (Kind.WHOLE, Kind.TABLE) and any(loop.over_files for loop in self._loops):
                kind = None  # clean(open(name).read()), for each file: one of many
            if parameter in parameters and kind in _GIVEN:
                self.given[function, parameter] = kind

    def _is_part(self, value: ast.expr) -> bool:
        """rows[i], text[a:b]; rows[:split] and rows[split:] are most of it, unless a loop moves the place."""
        if not isinstance(value, ast.Subscript) or isinstance(value.slice, ast.Constant):
            return False
        is_split = isinstance(value.slice, ast.Slice) and (value.slice.lower is None) != (value.slice.upper is None)
        return not is_split or bool(self._loops)

    def _is_record(self, values: list[ast.expr]) -> bool:
        """seen.add(line) holds every line; seen.add(hash(line)) a number of each."""
        return bool(values) and self._is_copy(values[0], 3)

    def _is_copy(self, value: ast.expr, depth: int) -> bool:
        """The piece that the loop gives, or a part of it: line.strip(), (row['a'], row['b']), and names for these."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not value.args:
            return self._is_copy(value.func.value, depth)
        if isinstance(value, ast.Tuple):
            return any(self._is_copy(each, depth) for each in value.elts)
        if isinstance(value, ast.Subscript):
            return self._is_copy(value.value, depth) and depth < 3
        if not isinstance(value, ast.Name) or not depth:
            return False
        if any(value.id in loop.targets for loop in self._loops):
            return True
        made = self._made_of.get(value.id)
        is_parsed = isinstance(made, ast.Call) and dotted(made.func).endswith(".loads") and bool(made.args)
        if is_parsed and isinstance(made, ast.Call):
            return self._is_copy(made.args[0], depth - 1)
        return made is not None and self._is_copy(made, depth - 1)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """ds['text']: a column of a dataset, as a list."""
        self.generic_visit(node)
        column = node.slice.value if isinstance(node.slice, ast.Constant) else None
        is_whole = isinstance(node.value, ast.Name | ast.Attribute) or (
            isinstance(node.value, ast.Subscript) and isinstance(node.value.slice, ast.Constant)
        )
        if column in _COLUMNS and is_whole and kind_of(node.value, self._names) == Kind.DATASET:
            self.note(Pattern.DATASET_IN_MEMORY, node)

    def _gathered(self, node: ast.AST, name: str, values: list[ast.expr]) -> None:
        """`name` has taken something in. Does it take in everything?"""
        kind = self._names.get(name)
        if kind not in (Kind.EMPTY, Kind.EMPTY_TEXT, Kind.EMPTY_MAP, Kind.EMPTY_LISTS, Kind.TOKENS):
            return
        takes_all = any(isinstance(value, ast.Name) and kind_of(value, self._names) in HELD for value in values)
        if not self._loops and takes_all:
            self._names[name] = Kind.TOKENS  # frames.append(df)
        if not self._loops or any(map(is_saving, values)):
            return
        goes_on = any(loop.over_files or loop.over_dataset for loop in self._loops)
        is_of_call = self._is_per_piece and name in self._local and not goes_on
        # A new list for each of a few files is still a list of a whole file.
        if is_of_call or any(name in loop.lets_go and not loop.is_bounded for loop in self._loops):
            if is_of_call or any(loop.over_data or loop.over_files for loop in self._loops):
                self._names[name] = Kind.ONE_FILE
            return
        if any(loop.over_data and loop.is_bounded for loop in self._loops) or any(map(self._takes_first, self._tests)):
            return
        if takes_all:
            self.note(Pattern.RECORD_LIST, node)  # merged.extend(rows), for each of a few files
            self._names[name] = Kind.TOKENS
            return
        encodes = any(has_encoder(value) or self._is_encoded(value) for value in values)
        over_data = any(loop.over_data for loop in self._loops) or any(map(self._is_of_one_file, values))
        first = next((number for number, loop in enumerate(self._loops) if loop.over_data), len(self._loops) - 1)
        given = frozenset().union(*(loop.gives | loop.grows for loop in self._loops[first:])) - {name}
        of_the_loop = any(each in given for value in values for each in names_in(value))
        # A function that is called at every turn of a loop is given one piece.
        is_of_piece = self._is_per_piece and not over_data
        if encodes and not is_of_piece and not all(loop.is_bounded for loop in self._loops):
            self.note(Pattern.TOKEN_LIST, node)
        # if mode == "train" takes all or nothing: it does not look at the piece.
        elif (
            over_data and of_the_loop and all(is_plain(test) or not given & set(names_in(test)) for test in self._tests)
        ):
            self.note(Pattern.WHOLE_TEXT if kind == Kind.EMPTY_TEXT else Pattern.RECORD_LIST, node)
        elif over_data and of_the_loop:
            self._not_followed(node, f"{name} takes in what passes a test, and how much that is does not show")
            return
        elif not any(self._is_load(value) for value in values):
            return
        self._names[name] = Kind.TOKENS

    def _is_encoded(self, value: ast.expr) -> bool:
        """ids, ids + [eot], np.asarray(ids); not len(ids)."""
        names = (each.id for each in kept_in(value) if isinstance(each, ast.Name))
        return any(self._names.get(name) == Kind.ENCODED for name in names)

    def _takes_first(self, test: ast.expr) -> bool:
        """if i < 100, where i counts the turns of a loop."""
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Lt | ast.LtE):
            return False
        is_few = kind_of(test.comparators[0], self._names) == Kind.FEW
        return is_few and any(dotted(test.left) in loop.counters for loop in self._loops)

    def _is_load(self, value: ast.expr) -> bool:
        """frames.append(pd.read_csv(path)): every file, one after another."""
        return isinstance(value, ast.Call) and is_loader(dotted(value.func))

    def not_followed_at(self, doubt: Doubt) -> NotFollowed:
        return NotFollowed(doubt.line, self._source(doubt.line), doubt.why)

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
        joins = isinstance(value, ast.Call) and dotted(value.func) in OF_PARTS and name in set(names_in(value))
        if joins and not any(loop.is_bounded for loop in self._loops):
            self.note(Pattern.ARRAY_GROWTH, node)

    def note(self, pattern: Pattern, node: ast.AST) -> None:
        line: int = getattr(node, "lineno", 0)
        holds, instead = WORDS[pattern]
        self.hits.append(Hit(pattern, line, self._source(line), holds, instead))

    def _source(self, line: int) -> str:
        source = self._lines[line - 1].strip() if 0 < line <= len(self._lines) else ""
        return source if len(source) <= SOURCE_CHARACTERS else source[: SOURCE_CHARACTERS - 1] + "…"


def _is_named_data(node: ast.Call) -> bool:
    """torch.load(path) of a script without a model; what is mapped to a device is one."""
    words = [*names_in(node), *(each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute))]
    words += [str(each.value) for each in ast.walk(node) if isinstance(each, ast.Constant)]
    return not any(keyword.arg in ("map_location", "mmap") for keyword in node.keywords) and not any(
        MODEL.search(word) for word in words
    )


def _owner_of(node: ast.Call) -> str:
    return dotted(node.func.value) if isinstance(node.func, ast.Attribute) else ""
