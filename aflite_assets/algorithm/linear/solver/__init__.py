"""How an optimum is reached: the preconditioner and L-BFGS, in torch and compiled.

Nothing here reads rows of the pool: gradients are asked for. Formulas of the losses are in losses.py, what is fitted
and how precisely in engine.
"""
