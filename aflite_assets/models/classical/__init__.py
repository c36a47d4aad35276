"""Evaluators that scikit-learn fits, and their inputs. Neural models are in the other folders."""
