"""Read the table that `memwatch export RUN --csv run.csv` writes: what the job took, and when memory was shortest.

python recipes/peaks.py run.csv

Each row is one look at the machine. Units are in the columns' names, and what was not known is empty:
`memwatch export --columns` tells what each of them means.
"""

import csv
import sys

MIB = 1 << 20


def main(path: str) -> None:
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        sys.exit(f"{path}: the run was over before the first look")
    seconds = float(rows[-1]["clock_s"]) - float(rows[0]["clock_s"])
    print(f"{len(rows)} rows over {seconds:.0f} s")

    known = [row for row in rows if row["job_rss_bytes"]]
    if known:
        peak = max(known, key=lambda row: int(row["job_rss_bytes"]))
        print(f"the job took {int(peak['job_rss_bytes']) / MIB:,.0f} MiB at the most, at {peak['time_utc']}")

    known = [row for row in rows if row["available_bytes"]]
    if known:
        lowest = min(known, key=lambda row: int(row["available_bytes"]))
        print(f"{int(lowest['available_bytes']) / MIB:,.0f} MiB was available at the least, at {lowest['time_utc']}")


if __name__ == "__main__":
    main(sys.argv[1])
