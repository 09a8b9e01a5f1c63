"""Graphics cards: AMD on recorded trees, NVIDIA through the real binding and a stub of the driver's library."""

import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from memwatch.model.sample import Gpu
from memwatch.probe.gpu import GpuReader
from tests.probe.trees import Tree, add_card, bare

NVIDIA, AMD = "0x10de", "0x1002"
GIB = 1024**3

AWAKE = Gpu(0, "Stub 4090", 0.37, 10 * GIB, 24 * GIB, 61.0, 250.5, 450.0, job_memory_bytes=0)


def in_foreground(tree: Tree) -> GpuReader:
    return GpuReader(tree.proc, tree.sys, in_background=False)


def test_no_card_is_an_empty_tuple_and_nothing_to_name(tmp_path: Path) -> None:
    tree = bare(tmp_path)
    reader = GpuReader(tree.proc, tree.sys)
    assert reader.read(0.0, {1}) == ()
    assert reader.reason is None


def test_an_nvidia_card_without_the_drivers_library_is_none_with_a_reason(tmp_path: Path) -> None:
    tree = bare(tmp_path)
    add_card(tree, "0000:01:00.0", NVIDIA, "nouveau")
    reader = in_foreground(tree)
    assert reader.read(0.0, {1}) is None
    assert "libnvidia-ml.so.1" in (reader.reason or "")
    assert "nouveau" in (reader.reason or "")


@pytest.fixture
def amd(tmp_path: Path) -> Tree:
    tree = bare(tmp_path)
    card = add_card(tree, "0000:03:00.0", AMD, "amdgpu")
    readings = {
        "gpu_busy_percent": "55",
        "mem_info_vram_used": str(2 * GIB),
        "mem_info_vram_total": str(16 * GIB),
        "hwmon/hwmon4/temp1_input": "48000",
        "hwmon/hwmon4/power1_average": "97000000",
        "hwmon/hwmon4/power1_cap": "220000000",
    }
    for name, value in readings.items():
        tree.write(f"{card}/{name}", f"{value}\n")
    return tree


def test_an_amd_card_is_read_from_sysfs(amd: Tree) -> None:
    (gpu,) = GpuReader(amd.proc, amd.sys, in_background=False).read(0.0, {1}) or ()
    expected = Gpu(0, "AMD GPU at 0000:03:00.0", 0.55, 2 * GIB, 16 * GIB, 48.0, 97.0, 220.0)
    assert gpu == expected


def test_readings_an_amd_card_lacks_are_unknown(tmp_path: Path) -> None:
    tree = bare(tmp_path)
    add_card(tree, "0000:03:00.0", AMD, "amdgpu")
    assert in_foreground(tree).read(0.0, {1}) == (Gpu(0, "AMD GPU at 0000:03:00.0"),)


def test_a_sleeping_amd_card_is_not_asked(amd: Tree) -> None:
    amd.write("sys/bus/pci/devices/0000:03:00.0/power/runtime_status", "suspended\n")
    assert in_foreground(amd).read(0.0, {1}) == (Gpu(0, "AMD GPU at 0000:03:00.0", asleep=True),)


def test_cards_are_asked_once_a_second_at_most(amd: Tree) -> None:
    reader = in_foreground(amd)
    before = reader.read(0.0, {1})
    amd.write("sys/bus/pci/devices/0000:03:00.0/gpu_busy_percent", "99\n")
    assert reader.read(0.9, {1}) == before
    assert (reader.read(1.0, {1}) or ())[0].used_fraction == 0.99


def test_an_amd_card_is_shown_beside_a_broken_nvidia_one(amd: Tree) -> None:
    add_card(amd, "0000:01:00.0", NVIDIA, "nvidia")
    reader = in_foreground(amd)
    assert [gpu.name for gpu in reader.read(0.0, {1}) or ()] == ["AMD GPU at 0000:03:00.0"]
    assert reader.reason is not None


def test_the_background_gives_the_same_answer_a_little_later(amd: Tree) -> None:
    reader = GpuReader(amd.proc, amd.sys)
    deadline_s = time.monotonic() + 5
    while (gpus := reader.read(0.5, {1})) is None:
        assert time.monotonic() < deadline_s
        time.sleep(0.005)
    assert gpus[0].used_fraction == 0.55
    assert reader.reason is None
    reader.close()


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stub library."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc to build the stub of libnvidia-ml.so.1 with")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("nvml_stub.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", source], check=True)
    return folder


class Nvidia:
    """A recorded machine with one NVIDIA card, read in a process that loads the stub."""

    def __init__(self, tree: Tree, stub: Path, log: Path) -> None:
        self.tree, self._stub, self._log = tree, stub, log
        add_card(tree, "0000:01:00.0", NVIDIA, "nvidia")
        log.touch()

    def run(self, code: str, **settings: int) -> str:
        before = "from memwatch.probe.gpu import GpuReader\nfrom memwatch.model.sample import Gpu\n"
        made = f"reader = GpuReader({self.tree.proc!r}, {self.tree.sys!r}, in_background=False)\n"
        variables = {name: str(value) for name, value in settings.items()}
        environment = {**os.environ, **variables, "LD_LIBRARY_PATH": str(self._stub), "STUB_LOG": str(self._log)}
        command = [sys.executable, "-c", before + made + textwrap.dedent(code)]
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    def reading(self, job_pid: int = 1, **settings: int) -> Any:
        """What was read, and the reason if nothing was."""
        code = f"print(repr((reader.read(0.0, {{{job_pid}}}), reader.reason)))\nreader.close()"
        return eval(self.run(code, **settings), {"Gpu": Gpu})

    @property
    def questions(self) -> list[str]:
        return self._log.read_text().splitlines()


@pytest.fixture
def nvidia(tmp_path: Path, stub: Path) -> Nvidia:
    return Nvidia(bare(tmp_path), stub, tmp_path / "questions")


def test_an_nvidia_card_is_read_through_nvml(nvidia: Nvidia) -> None:
    assert nvidia.reading() == ((AWAKE,), None)
    assert nvidia.questions == ["init ", "handle 0000:01:00.0", "utilization ", "shutdown "]


def test_the_jobs_memory_on_the_card_is_counted_once(nvidia: Nvidia) -> None:
    (gpu,), _ = nvidia.reading(job_pid=900, STUB_PID=900)
    assert gpu.job_memory_bytes == 3 * GIB


def test_the_jobs_memory_is_unknown_where_the_driver_gives_the_hosts_pids(nvidia: Nvidia) -> None:
    (gpu,), _ = nvidia.reading(job_pid=900, STUB_PID=424242)
    assert gpu.job_memory_bytes is None


def test_the_jobs_memory_is_none_of_anothers(nvidia: Nvidia) -> None:
    (gpu,), _ = nvidia.reading(job_pid=901, STUB_PID=900)
    assert gpu.job_memory_bytes == 0


def test_a_reading_the_card_does_not_support_is_unknown(nvidia: Nvidia) -> None:
    (gpu,), reason = nvidia.reading(STUB_POWER=3)
    assert (gpu.power_w, gpu.power_limit_w, reason) == (None, 450.0, None)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param({"STUB_INIT": 9}, "Driver Not Loaded", id="driver-not-loaded"),
        pytest.param({"STUB_MEMORY": 15}, "GPU is lost", id="card-fell-off-the-bus"),
    ],
)
def test_a_broken_driver_is_none_with_a_reason(nvidia: Nvidia, settings: dict[str, int], words: str) -> None:
    gpus, reason = nvidia.reading(**settings)
    assert gpus is None
    assert words in reason


def test_a_sleeping_nvidia_card_is_not_touched_and_the_binding_not_loaded(nvidia: Nvidia) -> None:
    nvidia.tree.write("sys/bus/pci/devices/0000:01:00.0/power/runtime_status", "suspended\n")
    output = nvidia.run("import sys\nprint(reader.read(0.0, {1})[0].asleep, 'pynvml' in sys.modules)")
    assert output == "True False\n"
    assert nvidia.questions == []


def test_a_card_that_falls_asleep_beside_another_is_left_alone(nvidia: Nvidia) -> None:
    add_card(nvidia.tree, "0000:02:00.0", NVIDIA, "nvidia")
    status = Path(nvidia.tree.sys, "bus/pci/devices/0000:01:00.0/power/runtime_status")
    output = nvidia.run(f"""
        first = reader.read(0.0, {{1}})
        open({str(status)!r}, "w").write("suspended")
        second = reader.read(1.0, {{1}})
        print([gpu.asleep for gpu in first], [gpu.asleep for gpu in second], second[0].name)
    """)
    assert output == "[False, False] [True, False] Stub 4090\n"
    handles = [question for question in nvidia.questions if question.startswith("handle")]
    assert handles == ["handle 0000:01:00.0", "handle 0000:02:00.0", "handle 0000:02:00.0"]


def test_a_driver_that_recovers_is_read_again(nvidia: Nvidia) -> None:
    output = nvidia.run(
        """
        import ctypes
        print(reader.read(0.0, {1}))
        ctypes.CDLL(None).unsetenv(b"STUB_INIT")
        print(reader.read(1.0, {1})[0].name, reader.reason)
        """,
        STUB_INIT=9,
    )
    assert output == "None\nStub 4090 None\n"


def test_a_card_on_no_bus_that_can_be_seen_is_found_by_its_driver(nvidia: Nvidia) -> None:
    shutil.rmtree(Path(nvidia.tree.sys, "bus"))
    nvidia.tree.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX\n")
    assert nvidia.reading() == ((AWAKE,), None)


def test_a_driver_that_hangs_does_not_hold_up_a_reading(nvidia: Nvidia) -> None:
    output = nvidia.run(
        f"""
        import time
        reader = GpuReader({nvidia.tree.proc!r}, {nvidia.tree.sys!r})
        started_s = time.monotonic()
        answers = [reader.read(clock_s, {{1}}) for clock_s in (0.0, 1.0, 12.0)]
        print(answers, time.monotonic() - started_s < 0.5, reader.reason)
        """,
        STUB_HANG_S=30,
    )
    assert output == "[None, None, None] True the GPU driver does not respond\n"
