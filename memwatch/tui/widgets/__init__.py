"""The one widget that draws, and what is special about some of its uses."""
