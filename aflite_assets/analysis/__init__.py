"""From stored predictions and evidence to every number of a report: scores, differences, rules; no words or figures."""
