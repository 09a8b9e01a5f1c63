"""The journal: the append-only events of one run. Written by the guard, so everything here stays small."""
