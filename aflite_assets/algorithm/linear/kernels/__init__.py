"""Compiled arithmetic on the pool's rows: products, activations, and the passes built from them.

Only code for numba, which works on arrays and addresses, belongs here. Blocks, threads and memory are decided in
engine; the steps between two passes are in solver.
"""
