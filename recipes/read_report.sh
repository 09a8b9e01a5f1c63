#!/bin/sh
# A finished run as a page to look at (one file, no network) and as a table for a spreadsheet or a few lines of Python.
#
#   sh recipes/read_report.sh [RUN]        an id of `memwatch runs`; the last one otherwise
set -eu
run=${1:-last}
memwatch export "$run" --html run.html
memwatch export "$run" --csv run.csv
python3 "$(dirname "$0")/peaks.py" run.csv
