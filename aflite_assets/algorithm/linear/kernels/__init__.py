"""Compiled arithmetic on the pool's rows: products, activations, and the passes made of them.

Only code for numba, which knows arrays and addresses. Blocks, threads and memory are decided in engine; the steps
between two passes are in solver.
"""
