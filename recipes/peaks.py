"""Read the table that `memwatch export RUN --csv run.csv` writes: peak memory of the job and lowest available memory.

python recipes/peaks.py run.csv

Each row is one sample. The names of the columns include the units, and an unknown value is empty:
`memwatch export --columns` explains the columns.
"""

import csv
import sys

MIB = 1 << 20


def main(path: str) -> None:
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        sys.exit(f"{path}: the run ended before the first sample")
    seconds = float(rows[-1]["clock_s"]) - float(rows[0]["clock_s"])
    print(f"{len(rows)} rows over {seconds:.0f} s")

    known = [row for row in rows if row["job_rss_bytes"]]
    if known:
        peak = max(known, key=lambda row: int(row["job_rss_bytes"]))
        print(f"peak memory of the job: {int(peak['job_rss_bytes']) / MIB:,.0f} MiB at {peak['time_utc']}")

    known = [row for row in rows if row["available_bytes"]]
    if known:
        lowest = min(known, key=lambda row: int(row["available_bytes"]))
        print(f"lowest available memory: {int(lowest['available_bytes']) / MIB:,.0f} MiB at {lowest['time_utc']}")


if __name__ == "__main__":
    main(sys.argv[1])
