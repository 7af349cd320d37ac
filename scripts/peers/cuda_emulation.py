"""MLX 0.32.2's CUDA schedules, emulated on the host, with small recordings of what they give.

The schedules are read from MLX's sources and from the machine code in its mlx-cuda-13 wheel; no GPU
was involved. Everything here is additions, products, roundings, divisions and square roots, which
IEEE 754 defines: no value comes from a C library.

usage: cuda_emulation.py FOLDER
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

F32 = np.float32
WARP = 32


def bf16(x):
    """F32 rounded to the BF16 grid, to nearest even."""
    bits = np.ascontiguousarray(x, F32).view(np.uint32)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return bits.astype(np.uint32).view(F32)


def rounded(dtype):
    return bf16 if dtype == "BF16" else lambda x: np.asarray(x, F32)


def odd_sum(a, b):
    """a + b in F64, rounded to odd: a second rounding to F32 or BF16 is then the only one."""
    s = a + b
    part = s - a
    error = (a - (s - part)) + (b - part)
    bits = np.atleast_1d(s).view(np.int64).copy()
    wrong = (np.atleast_1d(error) != 0) & (bits & 1 == 0)
    away = (np.atleast_1d(error) > 0) == (np.atleast_1d(s) > 0)
    bits[wrong & away] += 1
    bits[wrong & ~away] -= 1
    return bits.view(np.float64).reshape(np.shape(s))


def fma(a, b, c):
    """a·b + c with one rounding to F32."""
    a, b, c = (np.asarray(v, np.float64) for v in (a, b, c))
    return odd_sum(a * b, np.broadcast_to(c, np.broadcast(a, b, c).shape)).astype(F32)


def fma_bf16(a, b, c):
    """a·b + c with one rounding to BF16."""
    a, b, c = (np.asarray(v, np.float64) for v in (a, b, c))
    exact = odd_sum(a * b, np.broadcast_to(c, np.broadcast(a, b, c).shape))
    near = exact.astype(F32)
    bits = np.atleast_1d(near).view(np.int32).copy()
    error = np.atleast_1d(exact - near.astype(np.float64))
    wrong = (error != 0) & (bits & 1 == 0)
    away = (error > 0) == (np.atleast_1d(exact) > 0)
    bits[wrong & away] += 1
    bits[wrong & ~away] -= 1
    return bf16(bits.view(F32)).reshape(np.shape(near))


def butterfly(lanes, r):
    """v[l] += v[l ^ m] for m of 16, 8, 4, 2, 1, over the last axis."""
    lanes, index = lanes.copy(), np.arange(WARP)
    for mask in (16, 8, 4, 2, 1):
        lanes = r(lanes + lanes[..., index ^ mask])
    return lanes[..., 0]


def block_sum(threads, r):
    """A butterfly in each warp; of several warps another one over their sums and zeros."""
    warps = threads.shape[-1] // WARP
    sums = [butterfly(threads[..., w * WARP : (w + 1) * WARP], r) for w in range(warps)]
    if warps == 1:
        return sums[0]
    second = np.zeros(threads.shape[:-1] + (WARP,), F32)
    second[..., :warps] = np.stack(sums, -1)
    return butterfly(second, r)


def by_thread(x, threads, each):
    """[.., rounds, threads, each], zeros behind the end."""
    n = x.shape[-1]
    rounds = -(-n // (threads * each))
    padded = np.zeros(x.shape[:-1] + (rounds * threads * each,), F32)
    padded[..., :n] = x
    return padded.reshape(x.shape[:-1] + (rounds, threads, each))


def thread_sums(x, threads, each, add):
    parts = by_thread(x, threads, each)
    sums = np.zeros(x.shape[:-1] + (threads,), F32)
    for k in range(parts.shape[-3]):
        for j in range(each):
            sums = add(sums, parts[..., k, :, j])
    return sums


def row_sum(x, dtype):
    """row_reduce_simple: 16 bytes a thread and round."""
    r, each = rounded(dtype), 4 if dtype == "F32" else 8
    warps = -(-(-(-x.shape[-1] // each)) // WARP) // 4
    threads = max(min(warps, WARP), 1) * WARP
    return block_sum(thread_sums(x, threads, each, lambda s, v: r(s + v)), r)[..., None]


def looped_columns(x, r):
    """col_reduce_looped: thread row y takes rows y, y + 32, …"""
    sums = np.zeros((x.shape[1], WARP), F32)
    for first in range(0, len(x), WARP):
        rows = min(WARP, len(x) - first)
        sums[:, :rows] = r(sums[:, :rows] + x[first : first + rows].T)
    return butterfly(sums, r)


def column_sum(x, dtype):
    r, (rows, columns) = rounded(dtype), x.shape
    each = 4 if dtype == "F32" else 2
    if rows <= WARP and columns % (16 // each) == 0:
        sums = np.zeros(columns, F32)
        for row in x:
            sums = r(sums + row)
    elif rows // columns > WARP:
        run = -(-rows // WARP)
        parts = [x[i * run : (i + 1) * run] for i in range(WARP)]
        none = np.zeros(columns, F32)
        sums = looped_columns(np.stack([looped_columns(p, r) if len(p) else none for p in parts]), r)
    else:
        sums = looped_columns(x, r)
    return sums[None, :]


def mean(x, dtype):
    r = rounded(dtype)
    return r(row_sum(x, dtype) * r(np.array([F32(1.0 / x.shape[-1])])))


def rms_norm(x, w, eps, dtype):
    """rms_norm: squares fused into the sums; the inverse root correctly rounded, which the GPU's
    approximation is not."""
    r, n, each = rounded(dtype), x.shape[-1], 4 if dtype == "F32" else 8
    vectors = -(-n // each)
    by_128 = vectors % 128 == 0 and vectors // 128 <= 8
    by_64 = vectors % 64 == 0 and vectors // 64 <= 8
    threads = 64 if n <= each * 64 or (by_64 and not by_128) else 128
    sums = thread_sums(x, threads, each, lambda s, v: fma(v, v, s))
    total = block_sum(sums, lambda v: np.asarray(v, F32))
    shifted = (total / F32(n) + F32(eps)).astype(F32)
    inverse = (1 / np.sqrt(shifted.astype(np.float64))).astype(F32)[..., None]
    return r(w * r(x * inverse))


def doubling(lanes, r):
    """Hillis and Steele over the first axis of 32."""
    lanes = lanes.copy()
    for offset in (1, 2, 4, 8, 16):
        before = lanes.copy()
        lanes[offset:] = r(before[offset:] + before[:-offset])
    return lanes


def contiguous_scan(x, dtype):
    r, n, each = rounded(dtype), len(x), 4
    threads = min(-(-(-(-n // each)) // WARP) * WARP, 1024)
    warps, out, prefix = threads // WARP, np.zeros_like(x), F32(0)
    for first in range(0, n, threads * each):
        part = np.zeros(threads * each, F32)
        values = x[first : first + threads * each]
        part[: values.size] = values
        v = part.reshape(threads, each).copy()
        for i in range(1, each):
            v[:, i] = r(v[:, i] + v[:, i - 1])
        before, of_warps = np.zeros(threads, F32), np.zeros(WARP, F32)
        for w in range(warps):
            totals = v[w * WARP : (w + 1) * WARP, each - 1]
            before[w * WARP + 1 : (w + 1) * WARP] = doubling(totals, r)[:-1]
            of_warps[w] = r(np.array([before[w * WARP + 31] + totals[31]]))[0]
        warps_before = np.concatenate([[F32(0)], doubling(of_warps, r)[:-1]]).astype(F32)
        for i in range(each):
            v[:, i] = r(r(r(v[:, i] + prefix) + np.repeat(warps_before[:warps], WARP)) + before)
        out[first : first + threads * each] = v.reshape(-1)[: values.size]
        prefix = v[-1, each - 1]
    return out


def strided_scan(x, dtype):
    r, out, prefix = rounded(dtype), np.zeros_like(x), np.zeros(x.shape[1], F32)
    for first in range(0, len(x), WARP):
        lanes = np.zeros((WARP, x.shape[1]), F32)
        rows = min(WARP, len(x) - first)
        lanes[:rows] = x[first : first + rows]
        lanes = r(doubling(lanes, r) + prefix)
        prefix, out[first : first + rows] = lanes[31].copy(), lanes[:rows]
    return out


def gemv(matrix, x, dtype):
    """One warp a row of the matrix, F32, products fused."""
    inner = x.size
    each = 4 if inner % 128 == 0 else 2 if inner % 64 == 0 else 1
    values, rows = by_thread(x, WARP, each), by_thread(matrix, WARP, each)
    sums = np.zeros((len(matrix), WARP), F32)
    for k in range(values.shape[0]):
        for j in range(each):
            sums = fma(rows[:, k, :, j], values[k, :, j], sums)
    return rounded(dtype)(butterfly(sums, lambda v: np.asarray(v, F32)))[None, :]


def dequantised(q, scales, biases, group, form):
    s, b = np.repeat(scales, group, -1), np.repeat(biases, group, -1)
    if form == "F32":
        return fma(q, s, b)
    return fma_bf16(q, s, b) if form == "sm_90" else bf16(bf16(q * s) + b)


def qmv(x, q, scales, biases, group, form):
    """A warp a row: 16 BF16 or 8 F32 accumulators a lane, those of a lane added in F32."""
    dtype = "F32" if form == "F32" else "BF16"
    w, each = dequantised(q, scales, biases, group, form), 16 if dtype == "BF16" else 8
    step = fma_bf16 if dtype == "BF16" else fma
    values, rows = by_thread(x, WARP, each), by_thread(w, WARP, each)
    sums = np.zeros((len(q), WARP, each), F32)
    for k in range(values.shape[0]):
        sums = step(values[k], rows[:, k], sums)
    lanes = np.zeros((len(q), WARP), F32)
    for i in range(each):
        lanes = lanes + sums[:, :, i]
    return rounded(dtype)(butterfly(lanes, lambda v: np.asarray(v, F32)))[None, :]


class Draw:
    """Reproducible values from integers."""

    def __init__(self, seed):
        self.state = np.random.RandomState(seed)

    def floats(self, dtype, *shape):
        """Of both signs, from 2^-6 to 2, full significands."""
        bits = self.state.randint(0, 1 << 23, shape).astype(np.uint32)
        exponents = self.state.randint(121, 128, shape).astype(np.uint32)
        signs = self.state.randint(0, 2, shape).astype(np.uint32)
        return rounded(dtype)((signs << 31 | exponents << 23 | bits).view(F32))

    def cancelling(self, dtype, *shape):
        """Large values that come back with the other sign, and small ones: the order of a sum
        shows even in BF16."""
        x = self.floats(dtype, *shape) * F32(16384)
        half = shape[-1] // 2
        x[..., half : 2 * half] = -x[..., :half][..., ::-1]
        for first in (0, 4):
            x[..., first::5] = self.floats(dtype, *x[..., first::5].shape)
        return rounded(dtype)(x)

    def words(self, *shape):
        return self.state.randint(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32)


def unpacked(words, bits):
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    q = words[..., None] >> shifts & np.uint32((1 << bits) - 1)
    return q.reshape(words.shape[:-1] + (-1,)).astype(F32)


def save(folder, name, op, tensors):
    """Floats as dtype says, words as U32; the operation in the metadata."""
    header, data = {"__metadata__": {"op": op, "from": "emulation of MLX 0.32.2, CUDA"}}, b""
    for key, (dtype, x) in tensors.items():
        x = np.ascontiguousarray(x)
        if dtype == "BF16":
            payload = (x.view(np.uint32) >> 16).astype(np.uint16).tobytes()
        else:
            payload = x.tobytes()
        offsets = [len(data), len(data) + len(payload)]
        header[key] = {"dtype": dtype, "shape": list(x.shape), "data_offsets": offsets}
        data += payload
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = Path(folder) / f"emulated-cuda-{name}.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main(folder):
    for dtype in ("F32", "BF16"):
        small, draw = dtype.lower(), Draw(41)

        def one(name, op, x, result):
            save(folder, f"{name}-{small}", op, {"x": (dtype, x), "result": (dtype, result)})

        x = draw.floats(dtype, 6, 700)
        one("cumsum", "cumsum axis=1", x, np.stack([contiguous_scan(row, dtype) for row in x]))
        x = draw.floats(dtype, 100, 12)
        one("cumsum-strided", "cumsum axis=0", x, strided_scan(x, dtype))
        x = draw.floats(dtype, 12, 2048 if dtype == "F32" else 2100)
        one("row-sum", "sum axis=1", x, row_sum(x, dtype))
        x = draw.floats(dtype, 70, 40)
        one("column-sum", "sum axis=0", x, column_sum(x, dtype))
        x = draw.floats(dtype, 1500, 12)
        one("column-sum-two-passes", "sum axis=0", x, column_sum(x, dtype))
        x = draw.floats(dtype, 24, 300)
        one("mean", "mean axis=1", x, mean(x, dtype))
        x, w = draw.floats(dtype, 64, 300), draw.floats(dtype, 300)
        tensors = {"x": (dtype, x), "w": (dtype, w)}
        tensors["result"] = (dtype, rms_norm(x, w, 1e-6, dtype))
        save(folder, f"rms-norm-{small}", "rms_norm eps=1e-6", tensors)

        matrix, x = draw.floats(dtype, 48, 320), draw.cancelling(dtype, 320)
        matrix[:, 160:] = matrix[:, :160][:, ::-1]
        tensors = {"a": (dtype, x[None, :]), "b": (dtype, matrix)}
        tensors["result"] = (dtype, gemv(matrix, x, dtype))
        save(folder, f"gemv-{small}", "matmul transposed", tensors)

        words, groups = draw.words(40, 80), 640 // 64
        scales, biases = draw.floats(dtype, 40, groups), draw.floats(dtype, 40, groups)
        # Beside ties of products: only one rounding tells on which side they are.
        biases[:, -1] *= F32(2.0**-30)
        x, q = draw.floats(dtype, 640), unpacked(words, 4)
        matrix = {"words": ("U32", words), "scales": (dtype, scales), "biases": (dtype, biases)}
        for form in ("F32",) if dtype == "F32" else ("sm_80", "sm_90"):
            suffix = "f32" if form == "F32" else f"bf16-{form}"
            result = (dtype, qmv(x, q, scales, biases, 64, form))
            tensors = {"x": (dtype, x[None, :]), **matrix, "result": result}
            save(folder, f"qmv-{suffix}", "quantized_matmul group_size=64 bits=4", tensors)
            few = {"words": ("U32", words[:8]), "scales": (dtype, scales[:8])}
            few["biases"] = (dtype, biases[:8])
            result = dequantised(q[:8], scales[:8], biases[:8], 64, form)
            few["result"] = (dtype, result)
            save(folder, f"dequantize-{suffix}", "dequantize group_size=64 bits=4", few)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
