"""The numbers of a report, computed from stored predictions and evidence: scores, differences and verdicts. Sentences
and figures are not made here.
"""
