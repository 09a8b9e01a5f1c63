"""Makes the pictures in this folder from real runs: `make screenshots`."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
WIDTH = 118
# Grows by 400 MiB a second up to 1.2 GiB, under a reserve that leaves it less.
HOG = """
import time
held = []
for _ in range(300):
    held.append(b"x" * (4 << 20))
    time.sleep(0.01)
time.sleep(60)
"""


def run(command: str, folder: Path) -> str:
    """What a user sees, with memwatch's own output and the job's in the order in which they came."""
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(folder / "state"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        shlex.split(command), cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return f"$ {command}\n{done.stdout}"


def picture(name: str, text: str) -> None:
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Text.from_ansi(text))
    svg = console.export_svg(title="memwatch")
    # No fonts from the network: a picture must look the same without it.
    (HERE / name).write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S))
    print(HERE / name)


def available_mib() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable:"))


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        maker = HERE.parent / "recipes" / "make_text.py"
        subprocess.run([sys.executable, maker, folder / "train_fineweb.txt", "--megabytes", "300"], check=True)
        (folder / "my_script.py").write_text(HOG)
        picture("tokenize.svg", run("memwatch run tokenize train_fineweb.txt", folder))
        reserve = available_mib() - 1000
        command = f"memwatch run --reserve {reserve}M --pause-timeout 2 -- python my_script.py"
        picture("guard.svg", run(command, folder))


if __name__ == "__main__":
    main()
