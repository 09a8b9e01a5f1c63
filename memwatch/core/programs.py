"""What to call a process without telling its command line, where people put passwords and the names of their files."""

import re

# Their own name says nothing; the script's does.
_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|bash|dash|zsh|sh)[0-9.]*", re.IGNORECASE)
_TAKES_A_VALUE = ("-W", "-X", "-I", "-r", "-O", "--require")
_TAKES_CODE = ("-c", "-e", "-E", "-p", "--eval", "--print")


def program_name(command: str) -> str:
    """'/usr/bin/python3 -u /home/me/prepare.py --key S3CR3T' is 'python3 prepare.py'; '[kworker/0:1]' is itself."""
    if command.startswith(("[", "(")):
        return command  # The kernel's own name for it.
    words = command.split()
    if not words:
        return command
    name = _file_name(words[0]).removesuffix(":")  # 'sshd: me@pts/0', as some programs call themselves
    script = _script(words[1:]) if _INTERPRETER.fullmatch(name) else None
    return name if script is None else f"{name} {script}"


def _script(arguments: list[str]) -> str | None:
    waiting = iter(arguments)
    for word in waiting:
        if word == "-m":
            module = next(waiting, None)
            return None if module is None else f"-m {module}"
        if word.startswith(_TAKES_CODE):
            return None
        if word in _TAKES_A_VALUE:
            next(waiting, None)
        elif not word.startswith("-"):
            return _file_name(word)
    return None


def _file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or path
