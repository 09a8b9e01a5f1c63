"""The collection: healthy jobs as people run them, scaled to a cage so that each fits with the reserve kept free.

A job's peak (anonymous memory and shmem, as the cage counts it) stays below the room: the cage less the default reserve
and what memwatch itself takes. Some come near on purpose.
"""

import importlib.util
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memwatch.decide.reserve import default_reserve_bytes
from memwatch.model.units import GIB, MIB
from tests.benign.inputs import AS_NOBODY, Inputs
from tests.browser import NAMES

OURS_MIB = 60  # front, guard and watcher, which live in the cage, too
WORK = Path(__file__).with_name("work.py")
ALL_CAGES = (1, 3, 8)
SMALL_CAGES = (1, 3)


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a job runs: in a cage of so many GiB, with an empty folder to write to."""

    cage_gib: int
    inputs: Inputs
    scratch: Path

    @property
    def room_mib(self) -> int:
        return room_bytes(self.cage_gib) // MIB

    def share(self, share: float) -> int:
        """MiB."""
        return int(self.room_mib * share)

    def below(self, margin_mib: int) -> int:
        """MiB: all of the room but so much."""
        return self.room_mib - margin_mib


def room_bytes(cage_gib: int) -> int:
    """What a job may take in a cage without touching the reserve."""
    return cage_gib * GIB - default_reserve_bytes(cage_gib * GIB) - OURS_MIB * MIB


Command = Callable[[Setting], list[object]]


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    command: Command
    needs: tuple[str, ...] = ()
    cages: tuple[int, ...] = ALL_CAGES
    code: int = 0

    def missing(self) -> str | None:
        """The first thing that it needs and that is not here; None if it can run."""
        return next((each for each in self.needs if not is_here(each)), None)


def is_here(what: str) -> bool:
    """A program, or a package with `import ` before its name."""
    if what.startswith("import "):
        return importlib.util.find_spec(what.removeprefix("import ")) is not None
    return shutil.which(what) is not None


def work(name: str, *arguments: object) -> list[object]:
    return [sys.executable, WORK, name, *arguments]


def shell(script: str, *arguments: object) -> list[object]:
    return ["sh", "-e", "-c", script, "sh", *arguments]


def java(
    s: Setting, heap_mib: int, program: str, *arguments: object, least: bool = False, **options: str
) -> list[object]:
    heap = [f"-Xmx{heap_mib}m", *([f"-Xms{heap_mib}m", "-XX:+AlwaysPreTouch"] if least else [])]
    return ["java", *heap, *options.values(), "-cp", s.inputs.java_program(), program, *arguments]


NUMPY = ("import numpy",)
NODE_GROW = """
const held = [];
const most = Number(process.argv[1]);
const step = () => {
  for (let i = 0; i < 20000; i++) held.push({id: i, name: 'name ' + i, tags: [i, i + 1]});
  if (process.memoryUsage().rss < most * 1048576) setImmediate(step); else setTimeout(() => {}, 1500);
};
step();
"""
NODE_BUFFER = "const b = Buffer.alloc(Number(process.argv[1]) * 1048576, 1); setTimeout(() => b.length, 3000)"
NODE_JSON = """
const text = require('fs').readFileSync(process.argv[1], 'utf8');
const data = JSON.parse(text);
if (JSON.stringify(data).length < 1000) process.exit(1);
setTimeout(() => {}, 1000);
"""
NODE_STREAM = """
const fs = require('fs'), zlib = require('zlib');
fs.createReadStream(process.argv[1]).pipe(zlib.createGzip({level: 1})).pipe(fs.createWriteStream(process.argv[2]));
"""
PERL_HASH = 'my %h; $h{"key $_"} = "value $_" for 1..$ARGV[0]; sleep 2; exit(!(keys %h == $ARGV[0]))'
AWK_ARRAY = "BEGIN { for (i = 0; i < n; i++) a[i] = i * 3; s = 0; for (k in a) s += a[k]; exit !(s > 0) }"
POSTGRES = """
cp -r "$1" "$2/data"
chmod 700 "$2/data"
bin="$(dirname "$(readlink -f "$(command -v postgres)")")"
options="-k $2 -c listen_addresses= -c shared_buffers=$3MB -c work_mem=$4MB -c maintenance_work_mem=$4MB -c fsync=off"
"$bin/pg_ctl" -D "$2/data" -o "$options" -l "$2/log" -w start >/dev/null
psql -h "$2" -U nobody -d postgres -q -v ON_ERROR_STOP=1 <<SQL
CREATE TABLE t AS SELECT id, md5(id::text) AS name, random() AS value FROM generate_series(1, 700000) AS id;
CREATE INDEX by_name ON t (name);
SELECT count(*) FROM (SELECT a.name FROM t a JOIN t b ON a.id = b.id ORDER BY a.value) AS j;
SQL
"$bin/pg_ctl" -D "$2/data" -w -m fast stop >/dev/null
"""


def postgres(s: Setting) -> list[object]:
    s.scratch.chmod(0o777)
    return [*AS_NOBODY, *shell(POSTGRES, s.inputs.database(), s.scratch, s.share(0.3), 64)]


def browser(s: Setting, canvases: int) -> list[object]:
    name = next((name for name in NAMES if shutil.which(name)), NAMES[0])
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
    more = ("--disable-component-update", "--disable-sync", "--hide-scrollbars", "--disable-dev-shm-usage")
    own = (f"--user-data-dir={s.scratch / 'profile'}", f"--screenshot={s.scratch / 'picture.png'}")
    return [name, *flags, *more, *own, s.inputs.page(canvases).as_uri()]


# One allocation, at once or late: what was taken for endless growth.
ONE_ALLOCATION = (
    Job("numpy-ones-half", lambda s: work("ones", s.share(0.57)), NUMPY),
    Job("numpy-ones-most", lambda s: work("ones", s.share(0.83)), NUMPY),
    Job("numpy-ones-near-the-edge", lambda s: work("ones", s.below(50)), NUMPY),
    Job("numpy-ones-late", lambda s: work("late_ones", s.share(0.8)), NUMPY),
    Job("numpy-ones-late-near-the-edge", lambda s: work("late_ones", s.below(90)), NUMPY),
    Job("numpy-ones-and-exit", lambda s: work("ones_and_exit", s.below(60)), NUMPY),
    Job("mmap-populate", lambda s: work("populate", s.share(0.75))),
    Job("mmap-populate-near-the-edge", lambda s: work("populate", s.below(80))),
    Job("list-of-integers", lambda s: work("list_of_integers", s.room_mib * 11_000)),
    Job(
        "list-of-integers-near-the-edge", lambda s: work("list_of_integers", (s.below(90)) * 26_000), cages=SMALL_CAGES
    ),
    Job("list-of-pairs", lambda s: work("big_zip", s.room_mib * 5_000), cages=SMALL_CAGES),
    Job("java-pretouch", lambda s: java(s, s.share(0.76), "Pretouch", 3000, least=True), ("java", "javac")),
    Job(
        "java-pretouch-near-the-edge",
        lambda s: java(s, s.below(60 + s.share(0.045)), "Pretouch", 3000, least=True),
        ("java", "javac"),
    ),
    Job("node-buffer", lambda s: ["node", "-e", NODE_BUFFER, s.share(0.45)], ("node",)),
    Job("node-buffer-most", lambda s: ["node", "-e", NODE_BUFFER, min(s.below(180), 4000)], ("node",)),
)
NUMPY_JOBS = (
    Job("numpy-products", lambda s: work("products", s.share(0.9)), NUMPY),
    Job("numpy-matrices", lambda s: work("matrices", s.share(0.8)), NUMPY, SMALL_CAGES),
    Job("numpy-sort-copies", lambda s: work("sort_copies", s.share(0.85)), NUMPY, SMALL_CAGES),
    Job("numpy-fourier", lambda s: work("fourier", s.share(0.85)), NUMPY, SMALL_CAGES),
    Job("numpy-masks", lambda s: work("boolean_masks", s.share(0.85)), NUMPY, SMALL_CAGES),
    Job("numpy-append", lambda s: work("appended", s.share(0.9)), NUMPY),
    Job("numpy-load", lambda s: work("load_npy", s.inputs.npy(s.share(0.45))), NUMPY, SMALL_CAGES),
    Job("numpy-map", lambda s: work("map_npy", s.inputs.npy(1536)), NUMPY, SMALL_CAGES),
    Job("numpy-save", lambda s: work("compressed_npz", s.share(0.8), s.scratch), NUMPY, SMALL_CAGES),
    Job("images", lambda s: work("images", s.share(0.85)), NUMPY),
)
PYTHON_OBJECTS = (
    Job("bytes-doubled", lambda s: work("doubled_bytes", s.share(0.9))),
    Job("text-joined", lambda s: work("joined_text", s.share(0.9)), cages=SMALL_CAGES),
    Job("dict-of-counts", lambda s: work("counts", s.inputs.words(30)), cages=(3,)),
    Job("json-load", lambda s: work("json_file", s.inputs.json(s.share(0.07))), cages=SMALL_CAGES),
    Job("csv-rows", lambda s: work("csv_rows", s.inputs.csv(s.share(0.025))), cages=SMALL_CAGES),
    Job("records", lambda s: work("records", s.share(0.35)), cages=SMALL_CAGES),
    Job("garbage-in-cycles", lambda s: work("cycles", s.share(0.7)), cages=SMALL_CAGES),
    Job("pickle", lambda s: work("pickled", s.share(0.85)), cages=SMALL_CAGES),
    Job("big-integers", lambda s: work("big_integers", 0), cages=(1,)),
    Job("text-in-memory", lambda s: work("text_in_memory", s.inputs.random_lines(100)), cages=SMALL_CAGES),
    Job("imports", lambda s: work("imports"), NUMPY, (1,)),
    Job("token-list", lambda s: work("token_list", s.share(0.88)), cages=SMALL_CAGES),
)
SHAPES = (
    Job("training", lambda s: work("training", s.share(0.85)), NUMPY),
    Job("training-near-the-edge", lambda s: work("training", s.below(60)), NUMPY),
    Job("checkpoints", lambda s: work("checkpoints", s.share(0.95), s.scratch), NUMPY),
    Job("steps-of-512", lambda s: work("steps", s.below(60), 512 if s.cage_gib > 1 else 128, 0.5), NUMPY),
    Job("steps-of-64", lambda s: work("steps", s.share(0.9), s.share(0.05), 0.25), NUMPY),
    Job("steady-80", lambda s: work("ones", s.share(0.8), 6), NUMPY),
    Job("steady-90", lambda s: work("ones", s.share(0.9), 6), NUMPY),
    Job("slow-to-85", lambda s: work("grow", s.share(0.85), s.share(0.85) / 8, 3)),
    Job("slow-to-the-edge", lambda s: work("grow", s.below(60), s.below(60) / 9, 3)),
    Job("fast-to-70", lambda s: work("grow", s.share(0.7), 1500, 3)),
    Job("fast-to-90", lambda s: work("grow", s.share(0.9), 1000, 3)),
    Job("slowing-to-the-edge", lambda s: work("slowing", s.below(50), 9), NUMPY),
    Job("sawtooth-slow", lambda s: work("sawtooth", s.share(0.3), s.share(0.85), s.share(0.55) / 2, 4), NUMPY),
    Job("sawtooth-fast", lambda s: work("sawtooth", s.share(0.2), s.share(0.9), 2500, 8), NUMPY),
    Job("sawtooth-long", lambda s: work("sawtooth", s.share(0.2), s.share(0.9), 2500, 30), NUMPY, (1,)),
    Job("sawtooth-near-the-edge", lambda s: work("sawtooth", s.share(0.8), s.below(60), 200, 5), NUMPY),
    Job("bursts", lambda s: work("bursts", s.share(0.85), 7), NUMPY),
    Job("bursts-near-the-edge", lambda s: work("bursts", s.below(60), 7), NUMPY),
    Job("up-and-down-near-the-edge", lambda s: work("random_walk", s.share(0.75), s.below(50), 8), NUMPY),
    Job("threads", lambda s: work("threads", s.share(0.8))),
    Job("exit-code-3", lambda s: work("exits_with_3", s.share(0.8)), code=3),
)
FILES = (
    Job("map-a-large-file", lambda s: work("map_file", s.inputs.npy(1536)), cages=SMALL_CAGES),
    Job("map-and-write", lambda s: work("map_and_write", s.scratch, 800), cages=SMALL_CAGES),
    Job("file-in-dev-shm", lambda s: work("file_in_ram", s.share(0.8), 500)),
    Job("memfd", lambda s: work("anonymous_file", s.share(0.85)), cages=SMALL_CAGES),
    Job("copy-a-large-file", lambda s: ["cp", s.inputs.npy(1536), s.scratch / "copy"], cages=SMALL_CAGES),
    Job(
        "dd-to-disk",
        lambda s: ["dd", "if=/dev/zero", f"of={s.scratch / 'zeros'}", "bs=1M", "count=2000"],
        cages=SMALL_CAGES,
    ),
    Job(
        "cat-a-large-file", lambda s: shell('cat "$1" "$1" >/dev/null; sleep 1', s.inputs.npy(1536)), cages=SMALL_CAGES
    ),
    Job("checksum", lambda s: ["sha256sum", s.inputs.random_lines(500)], cages=(1,)),
    Job(
        "find", lambda s: shell('find "$1" -type f -size +1k | wc -l; sleep 2', s.inputs.many_files(30_000)), cages=(1,)
    ),
    Job("grep", lambda s: shell('grep -r -c nothing "$1" | wc -l; sleep 2', s.inputs.many_files(30_000)), cages=(1,)),
    Job("small-files", lambda s: work("small_files", s.scratch, 40_000), cages=(1,)),
    Job("tar", lambda s: ["tar", "-czf", s.scratch / "all.tar.gz", s.inputs.many_files(30_000)], ("tar",), (1,)),
    Job("gzip", lambda s: shell('gzip -1 -c "$1" > "$2/out"', s.inputs.random_lines(100), s.scratch), ("gzip",), (1,)),
    Job(
        "xz",
        lambda s: shell('head -c 4000000 "$1" | xz -9e -T2 > "$2/out"', s.inputs.random_lines(100), s.scratch),
        ("xz",),
        SMALL_CAGES,
    ),
    Job(
        "zstd-19-long",
        lambda s: shell(
            'head -c 2000000 "$1" | zstd -q -19 --long=27 -T2 > "$2/out"', s.inputs.random_lines(100), s.scratch
        ),
        ("zstd",),
        SMALL_CAGES,
    ),
    Job(
        "zstd-ultra",
        lambda s: shell('head -c 2000000 "$1" | zstd -q --ultra -22 > "$2/out"', s.inputs.random_lines(100), s.scratch),
        ("zstd",),
        (3,),
    ),
    Job(
        "bzip2",
        lambda s: shell('head -c 15000000 "$1" | bzip2 > "$2/out"', s.inputs.random_lines(100), s.scratch),
        ("bzip2",),
        (1,),
    ),
    Job(
        "sort",
        lambda s: [
            "sort",
            f"-S{s.share(0.6)}M",
            "--parallel=2",
            f"-T{s.scratch}",
            f"-o{s.scratch / 'out'}",
            s.inputs.random_lines(300),
        ],
        ("sort",),
        SMALL_CAGES,
    ),
    Job(
        "sort-of-1-gb",
        lambda s: [
            "sort",
            f"-S{s.below(60)}M",
            "--parallel=2",
            f"-T{s.scratch}",
            f"-o{s.scratch / 'out'}",
            s.inputs.random_lines(1000),
        ],
        ("sort",),
        (3,),
    ),
    Job(
        "sort-unique",
        lambda s: shell(
            'tr " " "\\n" < "$1" | sort -S "$3"M -T "$2" | uniq -c | wc -l',
            s.inputs.random_lines(100),
            s.scratch,
            s.share(0.5),
        ),
        ("sort",),
        (1,),
    ),
)
PROCESSES = (
    Job("forks-that-share", lambda s: work("shared_by_forks", s.share(0.15)), NUMPY),
    Job("forks-of-their-own", lambda s: work("own_in_forks", s.share(0.85)), NUMPY),
    Job("forks-that-grow", lambda s: work("grow_in_forks", s.share(0.85), s.share(0.2)), cages=SMALL_CAGES),
    Job("idle-processes", lambda s: work("idle_processes", 300), cages=SMALL_CAGES),
    Job("short-processes", lambda s: work("short_processes", 4), cages=(1,)),
    Job("pool", lambda s: work("pool", s.share(0.85)), NUMPY),
    Job("pool-results", lambda s: work("pool_results", s.share(0.85)), NUMPY, SMALL_CAGES),
    Job("shared-memory", lambda s: work("shared_memory", s.share(0.85)), NUMPY),
    Job("executor", lambda s: work("executor", s.share(0.85)), NUMPY),
)
DATABASES = (
    Job("sqlite-in-memory", lambda s: work("sqlite_in_memory", s.share(0.5)), cages=SMALL_CAGES),
    Job("sqlite-on-disk", lambda s: work("sqlite_on_disk", s.scratch, s.share(0.3)), cages=SMALL_CAGES),
    Job("postgres", postgres, ("postgres", "psql", "setpriv"), SMALL_CAGES),
)
PANDAS = ("import pandas", "import numpy")
TABLES = (
    Job("pandas-csv", lambda s: work("pandas_csv", s.inputs.csv(s.share(0.1))), PANDAS, SMALL_CAGES),
    Job("pandas-groups", lambda s: work("pandas_groups", s.room_mib * 6_000), PANDAS, SMALL_CAGES),
    Job("pandas-merge", lambda s: work("pandas_merge", s.room_mib * 2_500), PANDAS, SMALL_CAGES),
    Job("parquet", lambda s: work("parquet", s.inputs.parquet(s.share(0.5))), ("import pyarrow",), SMALL_CAGES),
    Job(
        "parquet-to-pandas",
        lambda s: work("parquet_to_pandas", s.inputs.parquet(s.share(0.25))),
        ("import pyarrow", "import pandas"),
        SMALL_CAGES,
    ),
    Job(
        "parquet-batches",
        lambda s: work("parquet_batches", s.inputs.parquet(s.share(0.5))),
        ("import pyarrow",),
        SMALL_CAGES,
    ),
    Job("arrow-map", lambda s: work("arrow_map", s.inputs.arrow(800)), ("import pyarrow",), SMALL_CAGES),
)
COMPILERS = (
    Job("gcc", lambda s: ["gcc", "-O2", "-c", "-o", s.scratch / "o", s.inputs.c_source(500)], ("gcc",), SMALL_CAGES),
    Job(
        "gcc-four-at-once",
        lambda s: shell(
            'scratch="$1"; shift\n'
            'printf "%s\\n" "$@" | xargs -P4 -I@ sh -c \'gcc -O2 -c -o "$0/$$.o" "$1"\' "$scratch" @',
            s.scratch,
            *(s.inputs.c_source(150, seed) for seed in range(1, 5)),
        ),
        ("gcc",),
        SMALL_CAGES,
    ),
    Job("g++", lambda s: ["g++", "-O2", "-c", "-o", s.scratch / "o", s.inputs.cpp_source(40)], ("g++",), SMALL_CAGES),
    Job(
        "ld",
        lambda s: shell('ld -shared -o "$2/out.so" "$1"/*.o; sleep 0.5', s.inputs.objects(60, 8000), s.scratch),
        ("ld", "as"),
        (3,),
    ),
    Job(
        "ld-relocatable",
        lambda s: shell('ld -r -o "$2/out.o" "$1"/*.o; sleep 0.5', s.inputs.objects(60, 8000), s.scratch),
        ("ld", "as"),
        SMALL_CAGES,
    ),
    Job(
        "rustc",
        lambda s: ["rustc", "-O", "--crate-type=lib", "--out-dir", s.scratch, s.inputs.rust_source(25)],
        ("rustc",),
        SMALL_CAGES,
    ),
    Job(
        "javac",
        lambda s: shell(
            'javac -J-Xmx"$3"m -d "$2" "$1"/*.java', s.inputs.java_sources(60), s.scratch, min(s.share(0.55), 1500)
        ),
        ("javac",),
        SMALL_CAGES,
    ),
    Job(
        "cmake-and-make",
        lambda s: shell(
            'cmake -S "$1" -B "$2/build" >/dev/null && make -s -j2 -C "$2/build"', s.inputs.cmake_project(), s.scratch
        ),
        ("cmake", "make", "gcc"),
        SMALL_CAGES,
    ),
    Job(
        "git-gc",
        lambda s: shell(
            'cp -r "$1" "$2/r"; git -C "$2/r" gc --quiet --aggressive', s.inputs.git_repository(1500), s.scratch
        ),
        ("git",),
        SMALL_CAGES,
    ),
    Job(
        "git-clone",
        lambda s: shell('git clone --quiet --no-local "$1" "$2/r"; sleep 1', s.inputs.git_repository(1500), s.scratch),
        ("git",),
        (1,),
    ),
    Job(
        "pytest",
        lambda s: [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--rootdir={s.scratch}",
            s.inputs.test_suite(),
        ],
        ("import pytest",),
        SMALL_CAGES,
    ),
)
RUNTIMES = (
    Job("java-grows", lambda s: java(s, s.share(0.75), "Grow", s.share(0.6)), ("java", "javac")),
    Job(
        "java-grows-parallel-collector",
        lambda s: java(s, s.share(0.75), "Grow", s.share(0.45), collector="-XX:+UseParallelGC"),
        ("java", "javac"),
        SMALL_CAGES,
    ),
    Job("java-garbage", lambda s: java(s, s.share(0.6), "Churn", 5), ("java", "javac"), SMALL_CAGES),
    Job(
        "node-grows",
        lambda s: ["node", f"--max-old-space-size={s.share(0.75)}", "-e", NODE_GROW, s.share(0.5)],
        ("node",),
        SMALL_CAGES,
    ),
    Job("node-json", lambda s: ["node", "-e", NODE_JSON, s.inputs.json(s.share(0.07))], ("node",), SMALL_CAGES),
    Job(
        "node-stream",
        lambda s: ["node", "-e", NODE_STREAM, s.inputs.random_lines(100), s.scratch / "out.gz"],
        ("node",),
        (1,),
    ),
    Job("perl-hash", lambda s: ["perl", "-e", PERL_HASH, s.room_mib * 1500], ("perl",), SMALL_CAGES),
    Job("awk-array", lambda s: ["awk", "-v", f"n={s.room_mib * 2000}", AWK_ARRAY], ("awk",), SMALL_CAGES),
    Job("browser-start", lambda s: browser(s, 1), ("chromium",), (3, 8)),
    Job("browser-page", lambda s: browser(s, 40), ("chromium",), (3,)),
)
JOBS = (
    *ONE_ALLOCATION,
    *NUMPY_JOBS,
    *PYTHON_OBJECTS,
    *SHAPES,
    *FILES,
    *PROCESSES,
    *DATABASES,
    *TABLES,
    *COMPILERS,
    *RUNTIMES,
)
