"""The builder of the materials snapshot: starting structures, a potential, hulls, values of the literature."""

import os

# Before numpy is loaded: the relaxation solves many 3 by 3 systems, on which waiting threads cost ten times the work,
# and one thread sums in one order.
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
