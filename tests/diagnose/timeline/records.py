"""Records made of numbers: a machine that is well, and then is not."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from memwatch.diagnose.timeline.build import TimelineBuilder
from memwatch.diagnose.timeline.model import Timeline
from memwatch.model.sample import Gpu, Limit, Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB

START_T = 1794834000.0  # 2026-11-16 13:00 UTC
CARD = Gpu(0, "RTX 4070 Ti", used_fraction=0.0, memory_used_bytes=1181116006, memory_total_bytes=12 * GIB)


@dataclass
class Record:
    """Each `run` goes on for some seconds at the rates given; memory is that of the last one."""

    interval_s: float = 1.0
    total_bytes: int = 64 * GIB
    swap_total_bytes: int = 8 * GIB
    gpus: tuple[Gpu, ...] | None = (CARD,)
    knows_pressure: bool = True
    knows_refaults: bool = True
    t: float = START_T
    clock_s: float = 5000.0
    stalled_us: float = 0.0
    disk_us: float = 0.0
    in_pages: float = 0.0
    out_pages: float = 0.0
    refaults: float = 0.0
    job_bytes: float = 2.7 * GIB
    available_bytes: float = 50 * GIB
    swap_free_bytes: float = 8 * GIB
    cpu_s: float = 0.0
    limits: tuple[Limit, ...] = ()
    disk_free_bytes: int | None = None
    samples: list[Sample] = field(default_factory=list)

    def run(
        self,
        seconds: float,
        grows_bytes_s: float = 0.0,
        stalled: float = 0.0,
        disk: float = 0.0,
        swap_in_bytes_s: float = 0.0,
        swap_out_bytes_s: float = 0.0,
        refaults_s: float = 0.0,
        busy_cores: float = 0.0,
        interval_s: float | None = None,
    ) -> "Record":
        step_s = interval_s or self.interval_s
        for _ in range(max(round(seconds / step_s), 1)):
            self.t += step_s
            self.clock_s += step_s
            self.stalled_us += stalled * step_s * 1e6
            self.disk_us += disk * step_s * 1e6
            self.in_pages += swap_in_bytes_s * step_s / 4096
            self.out_pages += swap_out_bytes_s * step_s / 4096
            self.refaults += refaults_s * step_s
            self.job_bytes += grows_bytes_s * step_s
            self.available_bytes = max(self.available_bytes - grows_bytes_s * step_s, 0.3 * GIB)
            self.cpu_s += busy_cores * step_s
            self.sample()
        return self

    def sample(self) -> None:
        job = Process(
            41031, 77, 1, "R", int(self.job_bytes), 0, self.cpu_s, None, None, "python /home/me/prepare.py --key SECRET"
        )
        firefox = Process(2210, 5, 1, "S", 6 * GIB, 0, 1.0, None, None, "/usr/lib/firefox/firefox -P me")
        self.samples.append(
            Sample(
                t=self.t,
                clock_s=self.clock_s,
                memory=Memory(
                    self.total_bytes, int(self.available_bytes), self.swap_total_bytes, int(self.swap_free_bytes), 0
                ),
                limits=self.limits,
                pressure=Pressure(int(self.stalled_us), int(self.stalled_us), int(self.disk_us), int(self.disk_us))
                if self.knows_pressure
                else None,
                paging=Paging(
                    int(self.in_pages),
                    int(self.out_pages),
                    int(self.refaults / 2),
                    int(self.refaults) if self.knows_refaults else None,
                ),
                gpus=self.gpus,
                others=(firefox, job),
                disk_free_bytes=self.disk_free_bytes,
            )
        )

    def thrash(self, seconds: float = 120.0) -> "Record":
        mib = 1 << 20
        return self.run(seconds, stalled=0.7, swap_in_bytes_s=38 * mib, swap_out_bytes_s=61 * mib, refaults_s=9000)

    def timeline(self, name: str = "memwatch record") -> Timeline:
        return built(self.samples, name)


def built(samples: Iterable[Sample], name: str = "memwatch record") -> Timeline:
    builder = TimelineBuilder(name)
    for sample in samples:
        builder.add(sample)
    return builder.finish()


def freeze() -> Record:
    """The story: a script grows for nine minutes, memory ends, the machine swaps."""
    record = Record().run(60)
    record.run(540, grows_bytes_s=0.1 * GIB)
    record.swap_free_bytes = 0
    return record.thrash(280).run(60)


def without_processes(record: Record) -> list[Sample]:
    return [replace(sample, others=None) for sample in record.samples]
