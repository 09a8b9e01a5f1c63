"""What system logs tell: their lines, the kernel's OOM reports, and other events."""
