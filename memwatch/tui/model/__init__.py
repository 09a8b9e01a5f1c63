"""What there is to see, from events alone: no clock, no files, no Textual."""
