"""Transformers that classify texts, with their tokenizers: pretrained models, and small models without pretraining. The
package `training` trains the models.
"""
