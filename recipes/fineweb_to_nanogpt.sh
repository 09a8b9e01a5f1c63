#!/bin/sh
# Tokenize FineWeb's parquet files to train.bin and val.bin for nanoGPT: two bytes per token, <|endoftext|> after each
# document, 1 of 2000 documents for validation. After an interruption, the same command resumes.
#
#   sh recipes/fineweb_to_nanogpt.sh FOLDER-OF-PARQUET-FILES OUTPUT-FOLDER
set -eu
parquet=$1 out=$2

# Exits here with code 3 if memory or disk space is too small.
memwatch estimate "$parquet/*.parquet" --out "$out"

memwatch run tokenize "$parquet/*.parquet" --out "$out"

# Compares samples with tiktoken. Every input file needs an --input, in order.
set --
for file in "$parquet"/*.parquet; do set -- "$@" --input "$file"; done
memwatch verify "$out" "$@"
