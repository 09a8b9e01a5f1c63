"""The full-screen view of a run. A client of the guard: it may stall, crash or be detached, and the job stays guarded.

    sources/   where events come from: the guard's line, a journal, the machine itself
      -> model/    RunModel takes events and gives a Picture: everything there is to see, at one moment. Pure.
      -> draw/     a Picture and a size become lines of text with roles ("job", "warn"). Pure; no Textual.
      -> screens/, app.py   keys, questions, layout; PanelWidget redraws only the lines that changed

Live, attached, replayed and watched runs take the same way from the second step on.
"""
