"""Compiled arithmetic on the pool's rows: products, activations, and the passes that are built from products and
activations.

Only code for numba belongs in this package. It works on arrays and memory addresses. The package `engine` decides about
blocks, threads and memory. The package `solver` makes the steps between two passes.
"""
