"""Names of programs, without their arguments, which may hold secrets."""

import re
from collections.abc import Sequence

# What runs a program that is written in its own language; that program's name says more.
_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|bash|sh|dash|zsh|Rscript|java)[\d.]*")
_SCRIPT = re.compile(r"[\w.+-]+\.(?:py|pl|rb|js|mjs|sh|R|jar|ipynb)")
_MODULE = re.compile(r"[A-Za-z_][\w.]*")
_PROGRAM_CHARACTERS = 40
_TOKENIZERS = ("memwatch.tokenize", "memwatch.cluster")  # Modules: one run, and a run that many processes share.
_WORKER = ("-m", "memwatch.cluster.segment_worker")


def program_name(command: str) -> str:
    """'/usr/bin/python3 -u prepare.py --key SECRET' is 'python3 prepare.py'; 'sshd: me@pts/0' is 'sshd'."""
    words = command.split(" ")
    program = _base(words[0]).rstrip(":") or "?"
    if _INTERPRETER.fullmatch(program) is not None and (script := _script(words[1:])):
        return f"{program} {script}"[: 2 * _PROGRAM_CHARACTERS]
    return program[:_PROGRAM_CHARACTERS]


def as_given(command: Sequence[str]) -> str:
    """A job's command line as its user gave it: the tokenizer is a module of ours, run by some Python somewhere."""
    if tuple(command[1:3]) == _WORKER:
        return "worker"
    return " ".join(["tokenize", *command[3:]] if is_tokenizer(command) else command)


def is_tokenizer(command: Sequence[str]) -> bool:
    return len(command) > 2 and command[1] == "-m" and command[2] in _TOKENIZERS


def is_memwatch_itself(command_line: str) -> bool:
    """Whether it is a process that guards, records or shows: its arguments name the job, but it is not the job.

    The tokenizer is a module of ours too, and is a job.
    """
    words = command_line.split(" ")
    if _base(words[0]) in ("memwatch", "memwatch-watcher", "keeper-of-job"):
        return True
    if _INTERPRETER.fullmatch(_base(words[0])) is None:
        return False
    following = [word for word in words[1:] if word and word != "-P"][:2]  # The guard starts with -P.
    if following[:1] == ["-m"]:
        module = "".join(following[1:])
        return module.partition(".")[0] == "memwatch" and module not in (*_TOKENIZERS, _WORKER[1])
    return bool(following) and _base(following[0]) == "memwatch"


def _script(words: list[str]) -> str | None:
    """Only what looks like the name of a script or a module is shown."""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word == "-m":
            return f"-m {following}" if _MODULE.fullmatch(following) else None
        if word == "-c" or word == "-e":
            return None
        if not word.startswith("-"):
            return _base(word) if _SCRIPT.fullmatch(_base(word)) else None
    return None


def _base(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2]
