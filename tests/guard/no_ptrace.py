"""`python -m tests.guard.no_ptrace COMMAND...`: runs a command that must not use ptrace (seccomp: EPERM)."""

import ctypes
import os
import struct
import sys

_NUMBERS = {"x86_64": 101, "aarch64": 117}
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _EPERM = 0x7FFF0000, 0x00050001


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def forbid() -> None:
    number = _NUMBERS[os.uname().machine]
    steps = [(_LOAD, 0, 0, 0), (_EQUAL, 0, 1, number), (_RETURN, 0, 0, _EPERM), (_RETURN, 0, 0, _ALLOW)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    program = _Program(len(steps), code)
    assert libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0


if __name__ == "__main__":
    forbid()
    os.execvp(sys.argv[1], sys.argv[1:])
