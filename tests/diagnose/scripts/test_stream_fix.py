"""Scripts that are rewritten, and those that are refused, each with its reason."""

from textwrap import dedent

import pytest

from memwatch.diagnose.scripts.read import read_script
from memwatch.diagnose.scripts.stream_fix import NotSure, streamed_source

GATHERS = """
import numpy as np
tokens = []
with open('in.txt') as f:
    for line in f:
        tokens.extend(enc.encode(line))
"""


def script(end: str, gathers: str = GATHERS) -> str:
    return gathers + dedent(end).strip() + "\n"


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("np.array(tokens, dtype=np.uint16).tofile('train.bin')", id="at-once"),
        pytest.param("arr = np.array(tokens, dtype=np.uint16)\nprint(len(arr))\narr.tofile('train.bin')", id="named"),
        pytest.param("arr = np.array(tokens).astype(np.uint16)\ndel tokens\narr.tofile('train.bin')", id="cast"),
        pytest.param("print(f'{len(tokens):,}')\nnp.asarray(tokens, np.uint16).tofile('é.bin')", id="counted"),
    ],
)
def test_a_list_that_is_written_at_the_end_is_streamed(end: str) -> None:
    fixed = streamed_source(script(end))
    assert read_script(fixed) == []
    assert "tokens = _TokenFile(" in fixed
    assert "close()" in fixed
    assert ".astype(self.dtype)" in fixed if "astype" in end else "dtype=self.dtype" in fixed
    compile(fixed, "fixed.py", "exec")


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("json.dump(tokens, open('x', 'w'))", "not made into an array exactly once"),
        ("np.array(tokens, dtype=np.uint16)[:9].tofile('a')", "not written exactly once"),
        ("arr = np.array(tokens, dtype=np.uint16)\nnp.save('x.npy', arr)", "not written exactly once"),
        ("arr = np.array(tokens, dtype=np.uint16)\narr.tofile('a')\nprint(arr[0])", "line 9 uses arr as a whole"),
        ("random.shuffle(tokens)\nnp.array(tokens, dtype=np.uint16).tofile('a')", "line 7 uses tokens as a whole"),
        ("name = 'a'\nnp.array(tokens, dtype=np.uint16).tofile(name)", "computed after the list is created"),
        ("np.array(tokens).tofile('a')", "without a dtype"),
        ("np.array(tokens, dtype=np.uint16).tofile(open('a', 'wb'))", "to an open file"),
        ("if x:\n    np.array(tokens, dtype=np.uint16).tofile('a')", "beside the list's creation"),
    ],
)
def test_what_is_not_certain_is_refused_with_its_reason(end: str, reason: str) -> None:
    with pytest.raises(NotSure, match=reason):
        streamed_source(script(end))


def test_a_script_without_such_a_list_is_refused() -> None:
    with pytest.raises(NotSure, match="no list that gathers"):
        streamed_source("rows = [json.loads(line) for line in open(path)]\n")


def test_a_script_that_also_reads_all_at_once_is_refused() -> None:
    whole = "import numpy as np\ntext = open('in.txt').read()\n" + GATHERS
    with pytest.raises(NotSure, match="line 2 holds"):
        streamed_source(whole + "np.array(tokens, dtype=np.uint16).tofile('a')\n")
