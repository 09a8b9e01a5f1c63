"""npy, for build-nanogpt: the tokens as numpy.save writes them."""

from memwatch.tokenize.formats.npy_header import NPY_HEADER_BYTES, npy_header
from memwatch.tokenize.formats.output_format import LoaderNeeds, NumberedNames


class NpyFormat(NumberedNames):
    name = "npy"
    reader = "build-nanogpt"
    suffix = "npy"
    default_mode = "shard"
    default_shard_tokens = 100_000_000
    # A shard that is shorter than the first batch of each process ends in an error of shapes.
    needs = LoaderNeeds("build-nanogpt", 64 * 1024 + 1, "for each GPU with a batch of 64 x 1024")
    header_bytes = NPY_HEADER_BYTES
    begins_documents = True

    def header(self, tokens: int, token_bytes: int) -> bytes:
        return npy_header(f"<u{token_bytes}", tokens)
