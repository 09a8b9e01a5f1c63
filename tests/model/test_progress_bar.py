"""Bars as real programs draw them: tests/model/bars has what they wrote to a terminal, byte by byte."""

from itertools import pairwise
from pathlib import Path

import pytest

from memwatch.model.progress_bar import Bar, BarReader, bar_in

BARS = Path(__file__).with_name("bars")


def read(name: str, piece: int) -> list[Bar]:
    text = (BARS / f"{name}.txt").read_bytes().decode()
    reader = BarReader()
    found = [reader.feed(text[at : at + piece]) for at in range(0, len(text), piece)]
    found.append(reader.feed(""))
    return [bar for bar in found if bar is not None]


@pytest.mark.parametrize("piece", [7, 97, 4096])
@pytest.mark.parametrize(
    "name",
    ["tqdm_bytes", "tqdm_nested", "rich_track", "pip", "curl", "curl_hashes", "wget", "rsync_whole", "ffmpeg"],
)
def test_a_bar_is_followed_from_its_beginning_to_its_end_in_pieces_of_any_size(name: str, piece: int) -> None:
    fractions = [bar.fraction or 0.0 for bar in read(name, piece)]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0, abs=0.001)
    assert piece > 97 or any(0.2 < fraction < 0.8 for fraction in fractions)


@pytest.mark.parametrize(
    ("name", "left_s"), [("pip", 2), ("curl", 3), ("rsync_whole", 3), ("wget", 2), ("rich_track", 1)]
)
def test_the_time_left_is_read_where_the_program_gives_it(name: str, left_s: float) -> None:
    assert left_s in [bar.left_s for bar in read(name, 97)]


def test_of_nested_bars_the_outer_one_counts() -> None:
    assert {bar.name for bar in read("tqdm_nested", 97)} == {"epochs"}


def test_of_bars_side_by_side_the_one_that_is_least_far_counts() -> None:
    last = read("rich_two", 97)[-1]
    assert (last.name, last.fraction) == ("Processing...", 0.3)


def test_a_bar_after_another_takes_over() -> None:
    names = [bar.name for bar in read("tqdm_several", 50)]
    assert names[0] == "first"
    assert "second" in names


def test_a_bar_that_starts_again_for_every_file_is_followed() -> None:
    fractions = [bar.fraction or 0.0 for bar in read("rsync_files", 50)]
    assert sum(later < earlier for earlier, later in pairwise(fractions)) == 2


def test_bytes_without_a_whole_are_bytes() -> None:
    last = read("dd", 97)[-1]
    assert (last.fraction, last.done_bytes) == (None, 314572800)


@pytest.mark.parametrize(
    "line",
    [
        "validation accuracy 95% after 3 epochs",
        "lines: 57it [00:00, 190.11it/s]",
        "lost 45% of 300 packets",
        "CPU 99%, memory 12%",
        "===== step 3/10 =====",
        "done 250%|##########| 5/2 [00:01<00:00]",
        "",
    ],
)
def test_a_percentage_without_a_bar_is_none(line: str) -> None:
    assert bar_in(line) is None


@pytest.mark.parametrize(
    ("line", "fraction", "left_s"),
    [
        ("  0%|          | 0/1000 [00:00<?, ?it/s]", 0.0, None),
        ("map: 12%|#2        | 123/1000 [1:02:03<7:08:09, 30.3s/it, loss=0.3]", 0.123, 25689),
        ("x.bin:  33%|███▎      | 1.02G/3.05G [00:10<00:21, 98.4MB/s]", 0.334, 21),
        ("Epoch 3:  45%|████▌     | 45/100 [00:04<00:05,  9.9it/s]", 0.45, 5),
        ("[=========>          ]  47% eta 1h 2m", 0.47, 3720),
    ],
)
def test_lines_that_were_seen_elsewhere(line: str, fraction: float, left_s: float | None) -> None:
    bar = bar_in(line)
    assert bar is not None
    assert bar.fraction == pytest.approx(fraction, abs=0.001)
    assert bar.left_s == left_s


def test_what_was_cut_at_its_beginning_is_not_misread() -> None:
    reader = BarReader()
    reader.feed("train:  45%|████▌     | 45/100 [00:04<00:05]\r")
    found = reader.feed("5%|████▌     | 45/100 [00:04<00:05]\rtrain:  46%|████▌     | 46/100 [00:04<00:05]\r", True)
    assert found is not None
    assert found.fraction == 0.46


def test_a_bar_that_is_drawn_once_in_a_long_time_is_read_when_nothing_more_comes() -> None:
    reader = BarReader()
    assert reader.feed("\repochs:  33%|###3      | 1/3 [10:00<20:00, 600s/it]") is None
    found = reader.feed("")
    assert found is not None
    assert found.left_s == 1200


def test_a_flood_without_line_ends_is_bounded() -> None:
    reader = BarReader()
    for _ in range(50):
        assert reader.feed("y" * 8192) is None
