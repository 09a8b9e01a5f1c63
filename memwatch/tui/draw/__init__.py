"""How it looks: pure functions from a Picture and a size to lines of text. Colours are roles; the theme knows them."""
