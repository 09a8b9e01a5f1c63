"""The report of a run, or of a stretch of the machine's record: one page that needs nothing but itself.

    events -> RunStory (one pass, bounded space) -> ChartPanels (what is drawn, which scale) -> SVG and HTML (page.py)

Pure: no clock, no files. Whatever comes from outside is made printable and escaped in html.py, and nowhere else.
"""
