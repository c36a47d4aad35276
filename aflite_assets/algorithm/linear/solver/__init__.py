"""The solver that finds the optimum of each fit: L-BFGS with a preconditioner, in torch and as compiled code.

The solver reads no rows of the pool. A function that is passed to the solver computes the gradients. The formulas of
the losses are in `losses.py`. The package `engine` chooses the training sets and the tolerances.
"""
