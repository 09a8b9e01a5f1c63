"""Which commands need the terminal for themselves: on the full screen a job has no keyboard."""

import re
from collections.abc import Sequence

# Pagers, editors, monitors and debuggers: useless without a keyboard, whatever their arguments are.
_ALWAYS = frozenset(
    (
        *("less", "more", "most", "man", "fzf"),
        *("vi", "vim", "vimdiff", "nvim", "view", "nano", "pico", "emacs", "mc"),
        *("top", "htop", "btop", "atop", "tmux", "screen"),
        *("irb", "ghci", "ipython", "ipython3", "bpython", "ptpython", "gdb", "lldb", "pudb", "pudb3"),
    )
)
# Programs that read commands from the terminal unless they are given a script.
_INTERPRETER = re.compile(r"(?:python|pypy|node|lua|julia|R|bash|sh|dash|zsh|fish|ksh)[\d.]*")
_RUNS_WORDS = re.compile(r"-[A-Za-z]*[cemfsVh]|--(?:eval|print|file|version|help)(?:=.*)?")
_ASKS_FOR_PROMPT = re.compile(r"-[A-Za-z]*i|--interactive")
_INTERACTIVE_MODULES = frozenset(("pdb", "code", "IPython", "pudb", "ptpython", "bpython"))


def needs_terminal(command: Sequence[str]) -> bool:
    """Whether this command line starts something that a person types into. Where it is not sure, it is False."""
    program, *arguments = command or [""]
    name = program.rpartition("/")[2]
    if name in _ALWAYS:
        return "--help" not in arguments and "--version" not in arguments
    if _INTERPRETER.fullmatch(name) is None:
        return False
    for number, word in enumerate(arguments):
        if _ASKS_FOR_PROMPT.fullmatch(word):
            return True
        if word == "-m":
            return "".join(arguments[number + 1 : number + 2]) in _INTERACTIVE_MODULES
        if not word.startswith("-") or word == "-" or _RUNS_WORDS.fullmatch(word):
            return False
    return True
