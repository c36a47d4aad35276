"""From stored predictions and evidence to every number of a report: scores, differences and rules, but no words or
figures.
"""
