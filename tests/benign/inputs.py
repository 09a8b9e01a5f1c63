"""The files that the jobs read: made once for a campaign, before anything is measured, outside the cage."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

MIB = 1 << 20

PRETOUCH = """
public class Pretouch {
    public static void main(String[] arguments) throws Exception {
        Thread.sleep(Long.parseLong(arguments[0]));
    }
}
"""
GROW = """
import java.util.*;
public class Grow {
    public static void main(String[] arguments) throws Exception {
        int most = Integer.parseInt(arguments[0]);
        List<byte[]> held = new ArrayList<>();
        for (int i = 0; i < most; i++) {
            for (int j = 0; j < 16; j++) {  // Small ones: a large array takes up whole regions of the heap.
                byte[] piece = new byte[(1 << 16) - 64];
                Arrays.fill(piece, (byte) 1);
                held.add(piece);
            }
            if (i % 8 == 0) Thread.sleep(5);
        }
        Thread.sleep(1500);
        if (held.size() != 16 * most) System.exit(1);
    }
}
"""
CHURN = """
import java.util.*;
public class Churn {
    public static void main(String[] arguments) throws Exception {
        long until = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
        Map<Integer, String> map = new HashMap<>();
        int number = 0;
        while (System.nanoTime() < until) {
            map.put(number % 200000, "value " + number);
            number++;
        }
        if (map.size() < 1000) System.exit(1);
    }
}
"""
PAGE = """<!doctype html><title>A page</title><body><script>
for (let i = 0; i < CANVASES; i++) {
  const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1200;
  const pen = canvas.getContext('2d');
  for (let j = 0; j < 400; j++) {
    pen.fillStyle = `hsl(${i * j % 360} 60% 50%)`; pen.fillRect(j * 3, i * j % 900, 90, 90);
  }
  document.body.append(canvas);
}
for (let i = 0; i < 20000; i++)
  document.body.append(Object.assign(document.createElement('p'), {textContent: `line ${i}`}));
</script>"""


class Inputs:
    """Makes a file at its first use. All of it is in one folder, which the caller removes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, name: str, make: Callable[[Path], None]) -> Path:
        """`make` gets a path beside the final one, so that a half-made file is never taken for a whole one."""
        path = self._folder / name
        if not path.exists():
            partial = path.with_name("partial-" + name)
            if partial.is_dir():
                shutil.rmtree(partial)
            make(partial)
            partial.rename(path)
        return path

    def random_lines(self, size_mib: int) -> Path:
        def make(path: Path) -> None:
            import numpy

            source = numpy.random.default_rng(1)
            with path.open("wb") as file:
                for _ in range(size_mib // 10):
                    letters = source.integers(97, 123, (10 * MIB // 160, 160), dtype=numpy.uint8)
                    letters[:, 8::9] = 32
                    letters[:, -1] = 10
                    file.write(letters.tobytes())

        return self.file(f"lines-{size_mib}", make)

    def words(self, size_mib: int) -> Path:
        def make(path: Path) -> None:
            source = random.Random(1)
            with path.open("w") as file:
                for _ in range(size_mib * 2):
                    line = (f"w{source.randrange(1 << 22):x}" for _ in range(80_000))
                    file.write(" ".join(line)[: MIB // 2] + "\n")

        return self.file(f"words-{size_mib}", make)

    def npy(self, size_mib: int) -> Path:
        def make(path: Path) -> None:
            import numpy

            with path.open("wb") as file:
                numpy.save(file, numpy.ones(size_mib * MIB // 8))

        return self.file(f"array-{size_mib}.npy", make)

    def json(self, size_mib: int) -> Path:
        def make(path: Path) -> None:
            with path.open("w") as file:
                file.write("[")
                number = 0
                while file.tell() < size_mib * MIB:
                    rows = ({"id": number + at, "name": f"name {at}", "tags": [at, at + 1]} for at in range(10_000))
                    file.write(("," if number else "") + ",".join(map(json.dumps, rows)))
                    number += 10_000
                file.write("]")

        return self.file(f"data-{size_mib}.json", make)

    def csv(self, size_mib: int) -> Path:
        def make(path: Path) -> None:
            source = random.Random(1)
            with path.open("w") as file:
                file.write("id,name,value,city\n")
                number = 0
                while file.tell() < size_mib * MIB:
                    file.write(
                        "".join(
                            f"{number + at},name {source.randrange(10**6)},{source.random():.6f},city {at % 300}\n"
                            for at in range(10_000)
                        )
                    )
                    number += 10_000

        return self.file(f"data-{size_mib}.csv", make)

    def _table(self, size_mib: int) -> "object":
        import numpy
        import pyarrow

        rows = size_mib * MIB // 40
        source = numpy.random.default_rng(1)
        names = pyarrow.array([f"name {number:010d}" for number in range(1000)])
        return pyarrow.table(
            {
                "id": numpy.arange(rows),
                "value": source.random(rows),
                "name": names.take(pyarrow.array(source.integers(0, 1000, rows))),
            }
        )

    def parquet(self, size_mib: int) -> Path:
        def make(path: Path) -> None:
            import pyarrow.parquet

            pyarrow.parquet.write_table(self._table(size_mib), path, row_group_size=500_000)

        return self.file(f"table-{size_mib}.parquet", make)

    def arrow(self, size_mib: int) -> Path:
        def make(path: Path) -> None:
            import pyarrow

            table = self._table(size_mib)
            with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:  # type: ignore[attr-defined]
                writer.write_table(table)

        return self.file(f"table-{size_mib}.arrow", make)

    def many_files(self, count: int) -> Path:
        def make(path: Path) -> None:
            for number in range(count):
                folder = path / f"{number // 500}"
                if number % 500 == 0:
                    folder.mkdir(parents=True)
                (folder / f"file-{number}").write_bytes(b"%d " % number * 20)

        return self.file(f"files-{count}", make)

    def c_source(self, functions: int, seed: int = 0) -> Path:
        def make(path: Path) -> None:
            path.write_text("".join(c_function(seed * 100_000 + number) for number in range(functions)))

        return self.file(f"large-{functions}-{seed}.c", make)

    def cpp_source(self, functions: int) -> Path:
        def make(path: Path) -> None:
            path.write_text("".join(cpp_source(functions)))

        return self.file(f"large-{functions}.cpp", make)

    def rust_source(self, functions: int) -> Path:
        def make(path: Path) -> None:
            path.write_text("".join(rust_source(functions)))

        return self.file(f"large-{functions}.rs", make)

    def java_sources(self, classes: int) -> Path:
        def make(path: Path) -> None:
            path.mkdir()
            for number in range(classes):
                (path / f"C{number}.java").write_text("".join(java_class(number)))

        return self.file(f"java-{classes}", make)

    def java_program(self) -> Path:
        """A folder of classes to run."""

        def make(path: Path) -> None:
            path.mkdir()
            for name, source in (("Pretouch", PRETOUCH), ("Grow", GROW), ("Churn", CHURN)):
                (path / f"{name}.java").write_text(source)
                subprocess.run(["javac", f"{name}.java"], cwd=path, check=True)

        return self.file("java-programs", make)

    def objects(self, count: int, symbols: int) -> Path:
        """Object files for a linker: many symbols, and some data."""

        def make(path: Path) -> None:
            path.mkdir()
            for number in range(count):
                lines = ["\t.data"]
                for symbol in range(symbols):
                    name = f"a_rather_long_symbol_as_cpp_has_them_{number}_{symbol}"
                    target = f"a_rather_long_symbol_as_cpp_has_them_{(number + 1) % count}_{symbol}"
                    lines += [f"\t.globl {name}", f"{name}:", f"\t.quad {target}", "\t.fill 5, 8, 7"]
                source = "\n".join([*lines, ""])
                subprocess.run(["as", "-o", path / f"o{number}.o", "-"], input=source.encode(), check=True)

        return self.file(f"objects-{count}-{symbols}", make)

    def cmake_project(self) -> Path:
        def make(path: Path) -> None:
            path.mkdir()
            names = [f"part{number}.c" for number in range(12)]
            for number, name in enumerate(names):
                (path / name).write_text("".join(c_function(number * 1000 + each) for each in range(120)))
            (path / "main.c").write_text("int main(void) { return 0; }\n")
            (path / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.10)\nproject(benign C)\n"
                f"add_executable(it main.c {' '.join(names)})\n"
            )

        return self.file("cmake-project", make)

    def git_repository(self, commits: int) -> Path:
        def make(path: Path) -> None:
            path.mkdir()
            subprocess.run(["git", "init", "--quiet", "--bare", path], check=True)
            with subprocess.Popen(["git", "-C", path, "fast-import", "--quiet"], stdin=subprocess.PIPE) as importer:
                assert importer.stdin is not None
                for piece in fast_import(commits):
                    importer.stdin.write(piece)
                importer.stdin.close()

        return self.file(f"repository-{commits}", make)

    def test_suite(self) -> Path:
        def make(path: Path) -> None:
            path.mkdir()
            for number in range(20):
                (path / f"test_part{number}.py").write_text(
                    "import pytest\n\n\n@pytest.mark.parametrize('size', range(40))\n"
                    "def test_it(size):\n    held = [bytes(1000)] * 1000 + [bytearray(size * 100_000)]\n"
                    "    assert sorted(map(len, held))[-1] >= 1000\n"
                )

        return self.file("suite", make)

    def page(self, canvases: int) -> Path:
        return self.file(f"page-{canvases}.html", lambda path: write(path, PAGE.replace("CANVASES", str(canvases))))

    def database(self) -> Path:
        """A fresh PostgreSQL data folder, which belongs to nobody."""

        def make(path: Path) -> None:
            path.mkdir()
            os.chown(path, NOBODY, NOBODY)
            command = [*AS_NOBODY, "initdb", "--no-sync", "--auth=trust", "--username=nobody", str(path)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

        return self.file("database", make)

    def forget(self) -> None:
        """Drops the inputs from the page cache, so that a job that reads them reads from the disk, in its own cage."""
        for path in self._folder.iterdir():
            if path.is_file():
                fd = os.open(path, os.O_RDONLY)
                os.fdatasync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(fd)


NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


def write(path: Path, text: str) -> None:
    path.write_text(text)


def c_function(number: int) -> str:
    cases = "".join(
        f"case {each}: for (int i = 0; i < n; i++) s += p[i] * {each + number} + (s >> {each % 7 + 1}); break;\n"
        for each in range(12)
    )
    return f"int f{number}(int n, int *p) {{ int s = {number}; switch (n % 12) {{\n{cases}}} return s; }}\n"


def cpp_source(functions: int) -> Iterator[str]:
    yield "#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n"
    for number in range(functions):
        yield (
            f"struct K{number} {{ int a; bool operator<(const K{number} &o) const {{ return a < o.a; }} }};\n"
            f"int f{number}(std::vector<K{number}> v) {{ std::map<K{number}, std::string> m;\n"
            f'for (auto &k : v) m[k] += "x"; std::sort(v.begin(), v.end()); return m.size() + v.size(); }}\n'
        )


def rust_source(functions: int) -> Iterator[str]:
    yield "use std::collections::HashMap;\n"
    for number in range(functions):
        yield (
            "#[derive(Hash, PartialEq, Eq, Clone, Debug, PartialOrd, Ord)]\n"
            f"pub struct S{number} {{ a: u32, b: String }}\n"
            f"pub fn f{number}(v: Vec<S{number}>) -> usize {{ let mut m = HashMap::new();\n"
            f'let mut w = v.clone(); w.sort(); for s in v {{ m.insert(s.clone(), format!("{{:?}}", s)); }}\n'
            f"m.len() + w.len() }}\n"
        )
    yield 'fn main() { println!("{}", f0(vec![])); }\n'


def java_class(number: int) -> Iterator[str]:
    yield f"import java.util.*; import java.util.stream.*; public class C{number} {{\n"
    for each in range(60):
        yield (
            f"static Map<String, List<Integer>> m{each}(List<Integer> in) {{\n"
            f"return in.stream().filter(x -> x > {each})\n"
            f'.collect(Collectors.groupingBy(x -> "k" + (x % {each + 2}))); }}\n'
        )
    yield "}\n"


def fast_import(commits: int) -> Iterator[bytes]:
    source = random.Random(1)
    texts = [source.randbytes(15_000).hex() for _ in range(40)]
    for number in range(commits):
        which = number % len(texts)
        at = source.randrange(len(texts[which]))
        texts[which] = texts[which][:at] + f"changed {number}\n" + texts[which][at:]
        data = texts[which].encode()
        words = f"commit {number}".encode()
        yield b"commit refs/heads/main\nmark :%d\n" % (number + 1)
        yield b"committer A <a@example.org> %d +0000\ndata %d\n%s\n" % (1_700_000_000 + number, len(words), words)
        if number:
            yield b"from :%d\n" % number
        yield b"M 100644 inline file%d\ndata %d\n%s\n" % (which, len(data), data)
    yield b"done\n"


PYTHON = sys.executable
