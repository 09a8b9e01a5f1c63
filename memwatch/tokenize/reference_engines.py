"""The references for vocabulary files: Hugging Face's tokenizers and Google's sentencepiece (the extra `hf`)."""

import os

import numpy as np

from memwatch.errors import MemwatchError
from memwatch.tokenize.engines import ReferenceEngine, Tokens
from memwatch.tokenize.safe_cuts import safe_cuts
from memwatch.tokenize.vocabulary import Encoding
from memwatch.tokenize.vocabulary_file import file_content

# tokenizers takes a few hundred bytes of memory for a byte of text, so a long text is cut where that is safe.
PART_BYTES = 64 * 1024


class HuggingFace(ReferenceEngine):
    """Special tokens are plain text in a document; added tokens that are not special are tokens."""

    name = "tokenizers"

    def __init__(self, encoding: Encoding) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # There is a worker for every core.
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise _missing(encoding) from error
        super().__init__(encoding)
        try:
            self._tokenizer = Tokenizer.from_buffer(file_content(encoding))
        except Exception as error:  # It raises no other kind.
            raise MemwatchError(f"tokenizers cannot load {encoding.path} ({error})") from error
        self._tokenizer.encode_special_tokens = True
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._cuts = None if encoding.pretokenizer is None else safe_cuts(encoding.pretokenizer, encoding.whole_texts)

    def encode(self, text: bytes) -> Tokens:
        parts = [np.array(self.encode_list(part.decode()), np.uint32) for part in self._parts(text)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _parts(self, text: bytes) -> list[bytes]:
        if self._cuts is None or len(text) <= PART_BYTES:
            return [text]
        parts: list[bytes] = []
        start = 0
        while len(text) - start > PART_BYTES:
            cut = self._cuts.search(text, start + PART_BYTES - 1)
            if cut is None or cut.end() == len(text):
                break
            parts.append(text[start : cut.end()])
            start = cut.end()
        return [*parts, text[start:]]


class SentencePiece(ReferenceEngine):
    """Control pieces are plain text in a document; user-defined pieces are tokens."""

    name = "sentencepiece"

    def __init__(self, encoding: Encoding) -> None:
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError as error:
            raise _missing(encoding) from error
        super().__init__(encoding)
        self._processor = SentencePieceProcessor(model_proto=file_content(encoding))

    def encode(self, text: bytes) -> Tokens:
        return np.array(self.encode_list(text.decode()), np.uint32)

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._processor.encode(text)
        return ids


def _missing(encoding: Encoding) -> MemwatchError:
    return MemwatchError(f"{encoding.name} needs a library that is not installed: pip install 'memwatch[hf]'")
