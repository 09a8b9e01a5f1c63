"""The job's own systemd scope: where it can be made, how it is requested over D-Bus, and the memory limit it gets."""
