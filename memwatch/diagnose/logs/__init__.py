"""What system logs contain: their lines, the kernel's OOM reports, and other events."""
