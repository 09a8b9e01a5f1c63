"""memwatch runs memory-hungry jobs without freezing the machine."""

__version__ = "0.1.0"
