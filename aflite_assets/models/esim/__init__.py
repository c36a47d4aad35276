"""ESIM and its word vectors: pairs of texts read by LSTMs. Other models of texts: `text`."""
