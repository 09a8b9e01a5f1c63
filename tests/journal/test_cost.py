"""The journal runs inside the guard, which has 20 MiB and half a percent of a core for everything."""

import subprocess
import sys
from pathlib import Path

from tests.helpers import HANG_S

SCRIPT = """
import sys, time
from memwatch.model.sample import *
from memwatch.journal.writer import Journal

def now(i):
    job = tuple(Process(p, 1, 1, "S", 1 << 30, 0, 1.5, 1, 2, "python train.py --out data") for p in range(5))
    return Sample(1e9 + i, 1.0 * i, Memory(1 << 34, 1 << 33, 0, 0), (), Pressure(1, 2, 3, 4), Paging(1, 2, 3, 4), job)

journal = Journal.open(sys.argv[1], ["python", "train.py"])
journal.start({}, {})
samples = [now(i) for i in range(10)]
began_s = time.process_time()
for i in range(3000):
    journal.sample(samples[i % 10])
    journal.verdict("calm", "all is well", None, t=samples[i % 10].t)
cpu_s = (time.process_time() - began_s) / 3000
journal.exit(0, None, None)
journal.close()
status = open("/proc/self/status").read()
print(cpu_s, status.partition("VmRSS:")[2].split()[0], *({"pathlib", "numpy", "click"} & sys.modules.keys()))
"""


def test_a_sample_costs_little_and_the_guard_stays_small(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "run.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=True)
    cpu_s, rss_kib, *heavy = done.stdout.split()
    # Some 60 us where nothing else runs; ten samples a second may take a tenth of the guard's half percent.
    assert float(cpu_s) < 0.0005
    assert int(rss_kib) < 17 * 1024
    assert heavy == []
