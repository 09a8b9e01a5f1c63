"""What the screen shows, from events alone: no clock, no files, no Textual."""
