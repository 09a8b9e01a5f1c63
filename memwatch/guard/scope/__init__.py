"""The job's own systemd scope: where it can be made, how it is asked for over D-Bus, and the memory limit it gets."""
