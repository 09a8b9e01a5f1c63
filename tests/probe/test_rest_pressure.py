"""What other cgroups suffer, from a tree of files as cgroup v2 has them."""

from pathlib import Path

from memwatch.model.sample import Pressure
from memwatch.probe.rest_pressure import RestPressure


def stall(folder: Path, memory_us: int, io_us: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, total in (("memory", memory_us), ("io", io_us)):
        lines = (f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n" for kind in ("some", "full"))
        (folder / f"{name}.pressure").write_text("".join(lines))


def test_the_worst_of_all_neighbours_counts_and_neither_the_job_nor_other_runs(tmp_path: Path) -> None:
    app = tmp_path / "user.slice" / "app.slice"
    job, other_run = app / "memwatch-1.scope", app / "memwatch-2.scope"
    editor, services = app / "editor.scope", tmp_path / "system.slice"
    for folder in (job, other_run, editor, services):
        stall(folder, 1000)
    rest = RestPressure(str(job), str(tmp_path))
    assert rest.read(0.0) == Pressure(0, 0, 0, 0), "what was before does not count"
    stall(job, 9_000_000, 9_000_000)
    stall(other_run, 9_000_000)
    assert rest.read(1.0) == Pressure(0, 0, 0, 0)
    stall(editor, 301_000)
    stall(services, 201_000, 50_000)
    assert rest.read(2.0) == Pressure(300_000, 300_000, 50_000, 50_000)
    stall(services, 301_000, 50_000)
    assert rest.read(3.0) == Pressure(400_000, 400_000, 50_000, 50_000)
    rest.close()


def test_neighbours_come_and_go(tmp_path: Path) -> None:
    job, late = tmp_path / "a" / "memwatch-1.scope", tmp_path / "a" / "late.scope"
    stall(job, 0)
    rest = RestPressure(str(job), str(tmp_path))
    assert rest.read(0.0) == Pressure(0, 0, 0, 0)
    stall(late, 500)
    rest.read(6.0)
    stall(late, 800)
    assert rest.read(7.0).memory_some_us == 300
    for file in late.iterdir():
        file.unlink()
    late.rmdir()
    assert rest.read(13.0).memory_some_us == 300
    rest.close()
