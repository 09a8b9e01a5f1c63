"""Model: values that every room uses (samples, rates, sizes, names of programs). Imports nothing else of memwatch."""
