"""A script that cooperates with memwatch: it holds data in memory, and writes it to disk when memory runs short.

memwatch run -- python recipes/job_api.py squares.txt --count 2000000
python recipes/job_api.py squares.txt             the same without memwatch: no pressure is reported
"""

import argparse
import threading

from memwatch import job

MOST_HELD = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description="Write squares into a file.")
    parser.add_argument("file")
    parser.add_argument("--count", type=int, default=100_000)
    arguments = parser.parse_args()

    held: list[str] = []
    flushes = 0
    # The callback runs in another thread. It only sets an event, so that one thread alone uses the list.
    memory_is_short = threading.Event()
    job.on_pressure(lambda request: memory_is_short.set())

    with open(arguments.file, "w", encoding="ascii") as file:
        for number in range(arguments.count):
            held.append(f"{number * number}\n")
            if memory_is_short.is_set() or len(held) >= MOST_HELD:
                memory_is_short.clear()
                file.writelines(held)
                held.clear()
                flushes += 1
            job.progress(number + 1, arguments.count, "squares")
        file.writelines(held)
    print(f"{arguments.count} squares, {flushes} early flushes")


if __name__ == "__main__":
    main()
