"""What happened before, from a journal: all that matters still, and not more, because journals can be long."""

from memwatch.journal.run_index import FREQUENT, JournalIndex
from memwatch.tui.model.run_model import RunModel

# What charts show by themselves, and then some for rates and forecasts.
LOOK_BACK_S = 660.0


def take_past(model: RunModel, index: JournalIndex, start: int, end: int) -> None:
    """Let a run model take the events from `start` to `end`; of what there is a lot of, only the latest."""
    now_t = index.times[end - 1] if end else 0.0
    for number in range(start, end):
        if index.kinds[number] in FREQUENT and now_t - index.times[number] > LOOK_BACK_S:
            continue
        event = index.event(number)
        if event is not None:
            # A journal has ends of the job's output, not all of it.
            model.take({**event, "tail": True} if event["event"] == "output" else event)
    model.know_peak(index.peak_job_bytes(end))
