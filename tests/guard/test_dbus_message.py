"""D-Bus messages: as systemd 252 sends them."""

import pytest

from memwatch.guard.scope.dbus_message import DBusError, MessageType, Target, decode, encode_call, message_length, split

# Recorded from its private socket, when a scope was asked for.
RETURN = bytes.fromhex(
    "6c020101250000000300000037000000050175000100000007017300180000006f72672e667265656465736b746f702e7379"
    "7374656d6431000000000000000008016700016f0000200000002f6f72672f667265656465736b746f702f73797374656d64"
    "312f6a6f622f313000"
)
JOB_REMOVED = bytes.fromhex(
    "6c0401015d0000000a000000a200000001016f00190000002f6f72672f667265656465736b746f702f73797374656d643100"
    "00000000000002017300200000006f72672e667265656465736b746f702e73797374656d64312e4d616e6167657200000000"
    "00000000030173000a0000004a6f6252656d6f76656400000000000007017300180000006f72672e667265656465736b746f"
    "702e73797374656d643100000000000000000801670004756f7373000000000000000a000000200000002f6f72672f667265"
    "656465736b746f702f73797374656d64312f6a6f622f313000000000230000006d656d77617463682d3330352d3138653837"
    "37326336363032646131382e73636f70650004000000646f6e6500"
)
CHANGED = bytes.fromhex(
    "6c0401016800000006000000d600000001016f00480000002f6f72672f667265656465736b746f702f73797374656d64312f"
    "756e69742f6d656d77617463685f32643330355f3264313865383737326336363032646131385f326573636f706500000000"
    "00000000020173001f0000006f72672e667265656465736b746f702e444275732e50726f7065727469657300030173001100"
    "000050726f706572746965734368616e6765640000000000000007017300180000006f72672e667265656465736b746f702e"
    "73797374656d64310000000000000000080167000873617b73767d61730000001e0000006f72672e667265656465736b746f"
    "702e73797374656d64312e53636f706500003c0000000a000000436f6e74726f6c6c65720001730000000000000000000000"
    "0000000006000000526573756c7400017300000007000000737563636573730000000000"
)
ERROR = bytes.fromhex(
    "6c0301012e0000000100000067000000050175000100000004017300260000006f72672e667265656465736b746f702e4442"
    "75732e4572726f722e496e76616c696441726773000007017300180000006f72672e667265656465736b746f702e73797374"
    "656d6431000000000000000008016700017300002900000050726f6365737320312069732061206d616e616765722070726f"
    "636573732c207265667573696e672e00"
)


@pytest.mark.parametrize("message", [RETURN, JOB_REMOVED, CHANGED, ERROR])
def test_a_message_is_as_long_as_its_header_says(message: bytes) -> None:
    assert message_length(message[:16]) == len(message)


def test_what_systemd_says_is_understood() -> None:
    answer = decode(RETURN)
    assert (answer.kind, answer.reply_to, answer.body) == (MessageType.RETURN, 1, ("/org/freedesktop/systemd1/job/10",))
    news = decode(JOB_REMOVED)
    assert (news.kind, news.member) == (MessageType.SIGNAL, "JobRemoved")
    assert news.body == (10, "/org/freedesktop/systemd1/job/10", "memwatch-305-18e8772c6602da18.scope", "done")
    refusal = decode(ERROR)
    assert (refusal.kind, refusal.body) == (MessageType.ERROR, ("Process 1 is a manager process, refusing.",))


def test_of_a_body_that_nobody_waits_for_the_beginning_is_enough() -> None:
    news = decode(CHANGED)
    assert (news.member, news.body) == ("PropertiesChanged", ("org.freedesktop.systemd1.Scope",))


def test_what_is_cut_off_is_an_error_and_nothing_worse() -> None:
    for length in range(16, len(JOB_REMOVED)):
        with pytest.raises(DBusError):
            decode(JOB_REMOVED[:length])


def test_a_call_reads_back_as_it_was_meant() -> None:
    target = Target("org.example", "/org/example", "org.example.Manager")
    call = decode(encode_call(7, target, "Start", "sut", ["näme", 3, 1 << 40]))
    assert (call.kind, call.member, call.body) == (MessageType.CALL, "Start", ("näme", 3, 1 << 40))


def test_arrays_and_structures_are_padded_as_the_specification_has_it() -> None:
    data = encode_call(1, Target("a", "/", "a"), "M", "a(sv)", [[("x", ("t", 5)), ("yy", ("au", [6, 7]))]])
    body = data[-int.from_bytes(data[4:8], "little") :]
    assert body.hex(" ", 4) == (
        # length, pad to 8; "x", signature "t", pad to 8, 5
        "30000000 00000000 01000000 78000174 00000000 00000000 05000000 00000000 "
        # (pad to 8) "yy", signature "au", pad to 4, length, 6, 7
        "02000000 79790002 61750000 08000000 06000000 07000000"
    )


def test_a_signature_is_split_into_complete_types() -> None:
    assert split("ssa(sv)a(sa(sv))") == ["s", "s", "a(sv)", "a(sa(sv))"]
    assert split("aau(s(tt))") == ["aau", "(s(tt))"]
    assert split("") == []
