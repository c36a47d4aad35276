"""Siamese models: a small network encodes each text separately, and then the two encoded texts are compared. The
package `words` defines words and word vectors.
"""
