"""Pure logic: values in, values out. No clock, no files, no processes, no Textual."""
