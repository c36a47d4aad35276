"""Many linear classifiers at once: fitted to their optimum on random parts of one pool, and their predictions counted.

Logistic regression and linear SVMs, on the CPU or a GPU, in bounded memory. Which rows are trained on and which are
removed is decided outside. numba keeps compiled code beside the files, or where `NUMBA_CACHE_DIR` says, and does not
renew it when a file that another one imports changes: see `home.kernels_folder`.
"""
