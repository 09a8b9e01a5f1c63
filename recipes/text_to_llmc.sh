#!/bin/sh
# A text file to shards for llm.c and modded-nanogpt: NAME_val_000000.bin, NAME_train_000001.bin, ..., each with
# llm.c's header. Documents are separated by a blank line here, and begin with <|endoftext|>.
#
#   sh recipes/text_to_llmc.sh FILE OUTPUT-FOLDER [TOKENS-IN-A-SHARD]
#
# llm.c wants every shard, the last and the validation too, to hold a batch at least: B x T x processes + 1 tokens.
set -eu
memwatch run tokenize "$1" --out "$2" --format llmc --documents blank --shard-tokens "${3:-100M}" --val-ratio 0.005
memwatch verify "$2" --input "$1"
