"""Diagnose: why did it freeze, who was killed, and which line of the script holds everything.

    collect/   reads journals, records, system logs and the machine into Evidence (evidence.py)
    logs/      what one line of a kernel log says; timeline/ what a series of samples says; scripts/ what a script does
    causes/    one function a kind of trouble: from Evidence to Findings (findings.py)
    conclude.py   puts the findings together into a Diagnosis

Everything but collect/ is pure: the verdict follows from the evidence alone.
"""
