"""Compiled arithmetic on rows: products, activations, and passes that combine products and activations.

This package contains only code for numba, which works on arrays and memory addresses. The package `engine` manages
blocks, threads and memory. The package `solver` computes the steps between two passes.
"""
