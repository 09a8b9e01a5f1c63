#!/bin/sh
# Tokenize a text file to shards for llm.c and modded-nanogpt: NAME_val_000000.bin, NAME_train_000001.bin, ..., each with
# llm.c's header. In this example a blank line separates documents, and each starts with <|endoftext|>.
#
#   sh recipes/text_to_llmc.sh FILE OUTPUT-FOLDER [TOKENS-PER-SHARD]
#
# llm.c needs at least one batch, B x T x processes + 1 tokens, in every shard, also in the last one and in validation.
set -eu
memwatch run tokenize "$1" --out "$2" --format llmc --documents blank --shard-tokens "${3:-100M}" --val-ratio 0.005
memwatch verify "$2" --input "$1"
