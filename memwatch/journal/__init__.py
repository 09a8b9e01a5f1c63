"""The journal: the append-only events of one run, and the machine record that `memwatch record` keeps. Files only."""
