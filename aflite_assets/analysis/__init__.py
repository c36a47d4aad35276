"""The numbers of a report, computed from stored predictions and evidence: scores, differences and verdicts. The
sentences and figures of a report are made in `reports`.
"""
