"""Runs the published FPRev (peichenxie/FPRev, fprev.py, unmodified) on MLX, one problem a line.

stdin: "sum 4096" or "matmul 4096"; stdout: seconds, seconds of processor time, calls of the operation, edges of the tree.
"""
import sys
import time

import mlx.core as mx
import numpy

from fprev import AccumImpl, fprev

sys.setrecursionlimit(100_000)


class MlxSum(AccumImpl):
    def __init__(self, n):
        self.n_summands, self.calls = n, 0
        self.data = numpy.ones([n], dtype=numpy.float32)

    def set_mask(self, k, negative=False):
        self.data[k] = -(2.0**127) if negative else 2.0**127

    def reset_mask(self, k):
        self.data[k] = 1

    def get_l(self):
        self.calls += 1
        return self.n_summands - int(mx.sum(mx.array(self.data)).item())


class MlxMatmul(AccumImpl):
    """8×n · n×8, as the paper's GEMM: masks in the first row, read at [0, 0]."""

    def __init__(self, n):
        self.n_summands, self.calls = n, 0
        self.data = numpy.ones([8, n], dtype=numpy.float32)
        self.ones = mx.ones([n, 8])
        mx.eval(self.ones)

    def set_mask(self, k, negative=False):
        self.data[0, k] = -(2.0**127) if negative else 2.0**127

    def reset_mask(self, k):
        self.data[0, k] = 1

    def get_l(self):
        self.calls += 1
        return self.n_summands - int((mx.array(self.data) @ self.ones)[0, 0].item())


mx.set_default_device(mx.cpu)
for line in sys.stdin:
    name, n = line.split()
    problem = {"sum": MlxSum, "matmul": MlxMatmul}[name](int(n))
    start, work = time.perf_counter(), time.process_time()
    tree = fprev(problem)
    took, work = time.perf_counter() - start, time.process_time() - work
    edges = sum("->" in part for part in tree.body)
    print(took, work, problem.calls, edges, flush=True)
