"""ESIM: pairs of texts read by LSTMs with attention between them. Words and their vectors are in `words`."""
