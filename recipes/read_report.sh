#!/bin/sh
# Export a finished run as an HTML page (one file, no network) and as a CSV table, and print its peak memory.
#
#   sh recipes/read_report.sh [RUN]        an id from `memwatch runs`; default: the last run
set -eu
run=${1:-last}
memwatch export "$run" --html run.html
memwatch export "$run" --csv run.csv
python3 "$(dirname "$0")/peaks.py" run.csv
