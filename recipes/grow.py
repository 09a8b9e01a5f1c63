"""Allocates 50 MB five times a second until it is stopped: try it under `memwatch run`, never without."""

import time

held = []
while True:
    held.append(b"x" * 50_000_000)
    time.sleep(0.2)
