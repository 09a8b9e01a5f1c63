"""Decide: from samples to a verdict, and from verdicts to actions. Pure: no clock, no file, no signal.

    Sample -> History -> forecast() -> Forecast -> Decider -> Verdict          monitor.py holds the four together
                                          `-----------------------> next_action() -> Action      ladder.py

fill_windows.py reads fill rates for the forecast, thresholds.py has the level that one forecast calls for, reasons.py
the words. ladder.py covers a running job, paused_job.py one that is paused or was stopped, confine.py one that is
confined.
"""
