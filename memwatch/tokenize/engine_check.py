"""Compares gigatoken with the reference of a vocabulary file, on a check text and on a sample of the inputs.

    python -m memwatch.tokenize.engine_check < question.json      started by engine_choice.py

The answer is a line of JSON: `error` if there is no reference, `difference` if gigatoken fails or gives other tokens.
"""

import json
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from memwatch.errors import MemwatchError
from memwatch.tokenize.blocks import Block
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engines import CHECK_TEXT, Engine, Gigatoken, reference_engine
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.sizing import sample_pieces
from memwatch.tokenize.vocabulary import MARK, Encoding
from memwatch.tokenize.vocabulary_file import loadable_file

# A MiB takes the slowest reference about a second.
SAMPLED_PIECES = 32
# What vocabularies treat in their own ways: special tokens as text, runs of white space, what normalizers change.
CHECK_TEXTS = (
    CHECK_TEXT,
    "",
    " ",
    "\n\n\n \t  x",
    "  two spaces before and after  ",
    "<s>[INST] <|im_start|>user</s><eos><pad><unk><bos><|begin_of_text|><think></think><0x0A><tool_call>▁▁ a▁b",
    "e\u0301 ﬁ Ⅷ Å \u212b 가 \u1112\u1161\u11ab １２３ ｶﾞ が",
    "\u200d\u200b\ufeff\x00\x01 \r\n\r \u0085\u00a0",
)


def difference(engine: Engine, judge: Engine, texts: Sequence[str]) -> str | None:
    """How an engine differs from the reference on some texts, in words; None if it does not."""
    marked = "".join(text + MARK.decode() for text in texts).encode()
    for text in texts:
        if not np.array_equal(engine.encode(text.encode()), judge.encode(text.encode())):
            return f"its tokens differ from those of {judge.name} {judge.version}, for example in {text[:20]!r}"
    if not np.array_equal(engine.encode_marked(marked), judge.encode_marked(marked)):
        return f"its tokens differ from those of {judge.name} {judge.version} between documents"
    return None


def sampled_difference(engine: BlockEncoder, judge: BlockEncoder, blocks: Iterator[Block], name: str) -> str | None:
    """The same for blocks of an input. What the reference cannot encode is left out."""
    for block in blocks:
        data = bytes(block.data)
        try:
            expected, _ = judge.encode(data, block.layout)
        except MemwatchError:
            continue  # The run itself will say what is wrong, and where.
        if not np.array_equal(engine.encode(data, block.layout)[0], expected):
            return f"its tokens differ from those of {judge.engine.name} in {name} near byte {block.start.offset}"
    return None


def compared(encoding: Encoding, settings: TokenizeSettings, inputs: Sequence[Input]) -> str | None:
    """How gigatoken differs from the reference, or fails, with this vocabulary and a sample of these inputs; None if it
    gives the same tokens."""
    file = loadable_file(encoding)
    judge = reference_engine(encoding, file)
    try:
        engine = Gigatoken(encoding, file)
        found = difference(engine, judge, CHECK_TEXTS)
        if found is not None:
            return found
        sizes = [source for source in inputs if source.size_bytes is not None]
        chosen = sizes[:: max(-(-len(sizes) // SAMPLED_PIECES), 1)]
        for source in chosen:
            blocks = iter(sample_pieces(source, settings, encoding, max(SAMPLED_PIECES // len(chosen), 1)))
            engines = BlockEncoder(engine, encoding, settings), BlockEncoder(judge, encoding, settings)
            found = sampled_difference(*engines, blocks, source.name)
            if found is not None:
                return found
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # A panic in Rust code is no Exception.
        return str(error).strip().partition("\n")[0] or type(error).__name__
    return None


def main() -> None:
    """Answer the question on standard input."""
    question = json.load(sys.stdin)
    parts = question["encoding"]
    encoding = Encoding(**{**parts, "whole_texts": tuple(parts["whole_texts"])})
    settings = TokenizeSettings(**question["settings"])
    answer: dict[str, str | None] = {"error": None, "difference": None}
    try:
        answer["difference"] = compared(encoding, settings, [Input(**source) for source in question["inputs"]])
    except MemwatchError as error:
        answer["error"] = str(error)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
