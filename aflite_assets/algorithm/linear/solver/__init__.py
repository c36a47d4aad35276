"""How an optimum is reached: the preconditioner and L-BFGS, in torch and compiled.

The code here reads no rows of the pool: gradients come from a function it is given. The formulas of the losses are in
losses.py; which sets are fitted, and how precisely, is decided in engine.
"""
