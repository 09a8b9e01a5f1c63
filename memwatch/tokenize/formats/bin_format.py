"""bin, for nanoGPT: nothing but the tokens. train.bin and val.bin, or train_shard_0000.bin, ..."""

from memwatch.tokenize.formats.output_format import LoaderNeeds, OutputFormat


class BinFormat(OutputFormat):
    name = "bin"
    reader = "nanoGPT"
    default_mode = "stream"
    default_shard_tokens = 500_000_000
    # train.py draws positions up to len(data) - block_size.
    needs = LoaderNeeds("nanoGPT", 1024 + 1, "with a block size of 1024", token_bytes=(2,))
