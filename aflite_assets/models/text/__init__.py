"""Transformers that classify texts: pretrained models, and small models without pretraining. Their tokenizers are here
too. The package `training` trains them.
"""
