"""Decide: from samples to a verdict, and from verdicts to actions. Pure: no clock, no file, no signal.

    Sample -> History -> forecast() -> Forecast -> Decider -> Verdict          monitor.py holds the four together
                                          `-----------------------> next_action() -> Action      ladder.py

thresholds.py says what one forecast calls for, reasons.py says it in words.
"""
