"""The solver that finds the optimum of each fit: a preconditioner and L-BFGS, in torch and as compiled code.

The solver reads no rows of the pool. A function that is passed to the solver computes the gradients. The formulas of
the losses are in losses.py. The package `engine` decides which sets are fitted, and how precisely.
"""
