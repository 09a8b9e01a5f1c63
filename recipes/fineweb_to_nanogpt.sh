#!/bin/sh
# FineWeb's parquet files to the train.bin and val.bin that nanoGPT reads: one token in two bytes, documents end with
# <|endoftext|>, one in 2000 goes to validation. Interrupted? The same command goes on where it stopped.
#
#   sh recipes/fineweb_to_nanogpt.sh FOLDER-OF-PARQUET-FILES OUTPUT-FOLDER
set -eu
parquet=$1 out=$2

# Will it fit, and how long will it take? Ends here, with code 3, if not.
memwatch estimate "$parquet/*.parquet" --out "$out"

memwatch run tokenize "$parquet/*.parquet" --out "$out"

# Is it what tiktoken makes of the text? Samples of the first file tell, or of all: one --input for each, in order.
set --
for file in "$parquet"/*.parquet; do set -- "$@" --input "$file"; done
memwatch verify "$out" "$@"
