"""The recorded curves: what they hold is what the jobs did, and every job in them fits into its cage."""

import math
from pathlib import Path

import pytest

from memwatch.model.units import GIB, MIB
from tests.benign.curves import RECORDED, Curve, Point, load_curves, save_curves, thin
from tests.benign.jobs import JOBS, room_bytes


@pytest.fixture(scope="module")
def curves() -> list[Curve]:
    return load_curves()


def test_there_are_many_and_they_are_small(curves: list[Curve]) -> None:
    assert len({curve.name for curve in curves}) >= 70
    assert {curve.cage_bytes // GIB for curve in curves} == {1, 3, 8}
    assert RECORDED.stat().st_size < 300_000


def test_every_recorded_job_fits_into_its_cage(curves: list[Curve]) -> None:
    too_large = [curve.name for curve in curves if curve.peak_bytes > room_bytes(curve.cage_bytes // GIB)]
    assert too_large == []


def test_some_come_near_the_edge(curves: list[Curve]) -> None:
    for cage_gib in (1, 3, 8):
        left = [room_bytes(cage_gib) - curve.peak_bytes for curve in curves if curve.cage_bytes == cage_gib * GIB]
        assert sum(each < 150 * MIB for each in left) >= 5


def test_every_recorded_job_is_in_the_collection(curves: list[Curve]) -> None:
    cages = {job.name: job.cages for job in JOBS}
    assert [curve.name for curve in curves if curve.cage_bytes // GIB not in cages.get(curve.name, ())] == []


def test_a_curve_is_a_straight_line_between_its_points() -> None:
    curve = Curve("job", GIB, (Point(1, 100, 0), Point(3, 300, 50), Point(4, 0, 50)))
    assert [curve.bytes_at(t) for t in (0, 1, 2, 3, 3.5, 4, 9)] == [100, 100, 200, 300, 150, 0, 0]
    assert curve.cache_bytes_at(2) == 25
    assert (curve.peak_bytes, curve.seconds) == (300, 4)


def test_a_thinned_curve_is_true_to_the_error() -> None:
    points = [Point(t / 200, int(GIB * math.sin(t / 90) ** 2), (t % 300) * MIB) for t in range(1500)]
    kept = thin(points, 5 * MIB, 20 * MIB)
    curve = Curve("job", GIB, tuple(kept))
    assert len(kept) < 300
    assert all(abs(curve.bytes_at(point.running_s) - point.used_bytes) <= 5.001 * MIB for point in points)
    assert all(abs(curve.cache_bytes_at(point.running_s) - point.cache_bytes) <= 20.001 * MIB for point in points)


def test_what_is_saved_is_loaded_again(tmp_path: Path) -> None:
    curve = Curve("job", 3 * GIB, (Point(0, 0, 0), Point(0.5, 100 * MIB, 7 * MIB), Point(2, 20 * MIB, 0)))
    save_curves([curve], tmp_path / "curves")
    (loaded,) = load_curves(tmp_path / "curves")
    assert (loaded.name, loaded.cage_bytes, len(loaded.points)) == ("job", 3 * GIB, 3)
    assert all(abs(a.used_bytes - b.used_bytes) < MIB for a, b in zip(loaded.points, curve.points, strict=True))
