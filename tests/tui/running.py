"""Runs what is asynchronous in a test that is not."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tests.helpers import HANG_S


def run_async(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, HANG_S))
