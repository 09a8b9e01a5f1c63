"""Vocabularies that users bring: what is found in a file, and the same tokens as its own library gives."""

import base64
import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memwatch.errors import MemwatchError, UsageError
from memwatch.tokenize.engine_check import CHECK_TEXTS
from memwatch.tokenize.engine_check import difference as found_difference
from memwatch.tokenize.engines import Engine, Gigatoken, reference_engine
from memwatch.tokenize.new_letters import NEW_TO_TOKENIZERS
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import MARK, Encoding, encoding_named, rank_file
from memwatch.tokenize.vocabulary_file import encoding_of, loadable_file, with_vocabulary
from tests.nasty import nasty_text
from tests.texts import code, language, prose
from tests.vocabularies import MADE, vocabulary

# The usual name of the end of a text, its number, the size, and the name of the safe cuts.
KNOWN = {
    "gpt2.json": (50256, 50257, "gpt2"),
    "llama2.json": (2, 32000, None),
    "llama3.json": (128001, 128256, "cl100k"),
    "qwen3.json": (151643, 151669, "cl100k"),
    "deepseek_v3.json": (1, 128815, "cl100k"),
    "gpt4o.json": (199999, 200019, "o200k"),
    "mistral_nemo.json": (2, 131072, "o200k"),
    "anthropic.json": (0, 65000, None),
    "mistral.model": (2, 32000, None),
    "mistral_v3.model": (2, 32768, None),
    "tekken.json": (2, 131072, "o200k"),
}
WITHOUT_GIGATOKEN = {"anthropic.json"}
# What the files themselves call special is plain text in a document.
SPECIALS = (
    "<s>[INST]</s><|endoftext|><|im_start|>user<|im_end|><|begin_of_text|><EOT><META_START>"
    "<｜begin▁of▁sentence｜>x<unk><pad><0x0A><tool_call>{}</tool_call><think>▁▁</think><|fim_prefix|>"
)
DOCUMENTS = (
    "",
    " ",
    "a",
    "\n\n\n",
    "  two  spaces ",
    "\t\t x   y  \r\n\r\n z",
    SPECIALS,
    "e\u0301 ﬁ Ⅷ Å가",
    "▁a ▁",
    *CHECK_TEXTS,
)


@cache
def encoding_in(name: str) -> Encoding:
    return encoding_of(with_vocabulary(TokenizeSettings(encoding=str(vocabulary(name))), None, None))


@cache
def engines(name: str) -> tuple[Engine, Engine]:
    encoding = encoding_in(name)
    file = loadable_file(encoding)
    judge = reference_engine(encoding, file)
    return (judge if name in WITHOUT_GIGATOKEN else Gigatoken(encoding, file)), judge


@cache
def library(name: str) -> Callable[[str], list[int]]:
    """The library of a file as its own documentation uses it, without a word of memwatch."""
    path = vocabulary(name)
    if name == "tekken.json":
        import tiktoken

        config = json.loads(path.read_bytes())
        count = config["config"]["default_vocab_size"] - 1000
        ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in config["vocab"][:count]}
        tekken = tiktoken.Encoding(
            "tekken", pat_str=config["config"]["pattern"], mergeable_ranks=ranks, special_tokens={}
        )
        return lambda text: [token + 1000 for token in tekken.encode_ordinary(text)]
    if name.endswith(".model"):
        from sentencepiece import SentencePieceProcessor

        processor = SentencePieceProcessor(model_file=str(path))
        return lambda text: processor.encode(text)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def six_languages(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    documents = []
    for text in (prose(), code(), *(language(name) for name in ("de", "es", "ja", "zh_CN", "ru"))):
        for _ in range(count):
            length = int(rng.expovariate(1 / 1500)) + 1
            start = rng.randrange(len(text) - length)
            documents.append(text[start : start + length].decode("utf-8", "ignore"))
    return documents


@pytest.mark.parametrize("name", KNOWN)
def test_the_end_of_a_text_the_size_and_the_cuts_are_found(name: str) -> None:
    encoding = encoding_in(name)
    assert (encoding.end_of_text, encoding.vocabulary_size, encoding.pretokenizer) == KNOWN[name]
    assert encoding.dtype == ("uint16" if KNOWN[name][1] <= 65536 else "uint32")


@pytest.mark.parametrize("name", [*KNOWN, *MADE])
def test_tokens_are_those_of_the_library_in_six_languages(name: str) -> None:
    expected = library(name)
    fast, judge = engines(name)
    for document in (*DOCUMENTS, *six_languages(20, seed=1)):
        tokens = expected(document)
        assert judge.encode(document.encode()).tolist() == tokens, document
        assert fast.encode(document.encode()).tolist() == tokens, document


@pytest.mark.parametrize("name", KNOWN)
def test_documents_encoded_in_one_call_are_encoded_each_by_itself(name: str) -> None:
    documents = [*DOCUMENTS, *six_languages(5, seed=2)]
    end = encoding_in(name).mark
    expected = [token for document in documents for token in (*library(name)(document), end)]
    marked = "".join(document + MARK.decode() for document in documents).encode()
    for engine in engines(name):
        assert engine.encode_marked(marked).tolist() == expected


@pytest.mark.parametrize("name", KNOWN)
@given(text=st.one_of(nasty_text, st.text(max_size=60)))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tokens_are_those_of_the_library_for_any_unicode(name: str, text: str) -> None:
    tokens = library(name)(text)
    for engine in engines(name):
        assert engine.encode(text.encode()).tolist() == tokens


def test_letters_that_only_gigatoken_knows_go_through_the_reference() -> None:
    for first, last in NEW_TO_TOKENIZERS:
        for code_point in {first, last}:
            text = f"a{chr(code_point)}'s \u0323{chr(code_point)}\u0301 1"
            for name in ("llama3.json", "qwen3.json", "deepseek_v3.json"):
                assert engines(name)[0].encode(text.encode()).tolist() == library(name)(text), hex(code_point)


def test_a_rank_file_gives_the_tokens_of_the_encoding_it_came_from(tmp_path: Path) -> None:
    path = tmp_path / "own.tiktoken"
    path.write_bytes(rank_file(encoding_named("cl100k_base")).read_bytes())
    chosen = with_vocabulary(TokenizeSettings(encoding=str(path)), "cl100k", "100257")
    encoding = encoding_of(chosen)
    assert (encoding.end_of_text, encoding.vocabulary_size, encoding.dtype) == (100257, 100258, "uint32")
    named = encoding_named("cl100k_base")
    judge = reference_engine(named, rank_file(named))
    for engine in (Gigatoken(encoding, loadable_file(encoding)), reference_engine(encoding, loadable_file(encoding))):
        for text in (*DOCUMENTS, *six_languages(2, seed=3)):
            assert np.array_equal(engine.encode(text.encode()), judge.encode(text.encode())), text


def with_options(path: Path, pretokenizer: str | None = None, eot: str | None = None) -> Encoding:
    return encoding_of(with_vocabulary(TokenizeSettings(encoding=str(path)), pretokenizer, eot))


def test_the_end_of_a_text_can_be_named_or_numbered() -> None:
    path = vocabulary("llama3.json")
    assert with_options(path, eot="<|eot_id|>").end_of_text == 128009
    assert with_options(path, eot="128009").end_of_text == 128009
    with pytest.raises(UsageError, match=r"no token '<nothing>'; for --eot there are <\|begin_of_text\|>"):
        with_options(path, eot="<nothing>")
    with pytest.raises(UsageError, match="outside the vocabulary"):
        with_options(path, eot="128256")


def small_vocabulary(path: Path, **changes: object) -> Path:
    """A byte-level BPE without merges, and with what a test needs."""
    from tokenizers.pre_tokenizers import ByteLevel

    letters = {letter: number for number, letter in enumerate(sorted(ByteLevel.alphabet()))}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    config: dict[str, object] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": byte_level, "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "vocab": letters, "merges": []},
    }  # fmt: skip
    path.write_text(json.dumps({**config, **changes}))
    return path


def added(content: str, number: int, special: bool, **flags: bool) -> dict[str, object]:
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": number, "content": content, "special": special, **usual, **flags}


def test_a_vocabulary_that_does_not_say_what_ends_a_document_asks_for_it(tmp_path: Path) -> None:
    none = small_vocabulary(tmp_path / "none.json")
    with pytest.raises(UsageError, match=r"none.json does not say which token ends a document; name it with --eot"):
        with_options(none)
    assert with_options(none, eot="7").end_of_text == 7
    two = [added("</s>", 300, True), added("<|endoftext|>", 301, True)]
    with pytest.raises(UsageError, match=r"--eot \(<\|endoftext\|>, </s>\)"):
        with_options(small_vocabulary(tmp_path / "two.json", added_tokens=two))


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"pre_tokenizer": None},
        {"added_tokens": [added("</s>", 300, True), added("a b", 301, False)]},
        {"added_tokens": [added("</s>", 300, True), added("ab", 301, False, lstrip=True)]},
        {"added_tokens": [added("</s>", 300, True), added("ab", 301, False, single_word=True)]},
    ],
    ids=["normalizer", "other split", "no split", "token with a space", "token that takes spaces", "whole words"],
)
def test_documents_are_never_cut_where_that_is_not_proven_safe(tmp_path: Path, changes: dict[str, object]) -> None:
    changes = {"added_tokens": [added("</s>", 300, True)], **changes}
    assert with_options(small_vocabulary(tmp_path / "v.json", **changes)).pretokenizer is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "broken JSON"),
        (b'{"a": 1}', "neither a tokenizer.json nor a tekken.json"),
        (b'{"model": {}}', "not a tokenizer.json as known here"),
        (b"", "not a vocabulary"),
        (b"\x00\x01\x02" * 100, "not a vocabulary"),
    ],
    ids=["broken", "other JSON", "empty model", "empty", "rubbish"],
)
def test_what_is_no_vocabulary_is_refused_in_one_sentence(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(MemwatchError, match=problem):
        with_options(path)


def test_a_rank_file_needs_its_pretokenizer_and_its_end_of_text(tmp_path: Path) -> None:
    path = tmp_path / "own.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256)))
    with pytest.raises(UsageError, match="--pretokenizer"):
        with_options(path, eot="256")
    with pytest.raises(UsageError, match="--eot"):
        with_options(path, "gpt2")
    assert with_options(path, "gpt2", "256").vocabulary_size == 257


def test_a_vocabulary_that_merges_at_random_is_refused(tmp_path: Path) -> None:
    path = small_vocabulary(tmp_path / "random.json", added_tokens=[added("</s>", 300, True)])
    config = json.loads(path.read_text())
    config["model"]["dropout"] = 0.1
    path.write_text(json.dumps(config))
    with pytest.raises(MemwatchError, match="dropout"):
        with_options(path)


def test_a_file_that_changes_after_the_start_is_refused(tmp_path: Path) -> None:
    path = small_vocabulary(tmp_path / "v.json", added_tokens=[added("</s>", 300, True)])
    encoding = with_options(path)
    small_vocabulary(path, added_tokens=[added("</s>", 301, True)])
    for load in (lambda: loadable_file(encoding), lambda: reference_engine(encoding, path)):
        with pytest.raises(MemwatchError, match=r"is not the vocabulary v.json of this run: its SHA-256"):
            load()


def test_an_engine_with_other_tokens_is_found_out(tmp_path: Path) -> None:
    """THEN the check text shows the difference between two vocabularies."""
    assert found_difference(engines("llama3.json")[0], engines("qwen3.json")[1], CHECK_TEXTS) is not None
    assert np.array_equal(engines("llama3.json")[0].encode(b"x"), engines("llama3.json")[1].encode(b"x"))
