"""The synthetic clips of the recordings, from integer arithmetic only.

`stages/src/audio/synthetic.rs` states the same clips; both must change together. Samples are
16-bit integers; as F32 they are `sample / 32768`.
"""

import wave

import numpy as np

LENGTHS = {"quiet": 9000, "loud": 8001, "clipped": 7040, "silent": 3000}
"""Samples at 16 kHz; only `clipped` is a multiple of the 128 samples clips are padded to."""

BATCH = ["quiet", "loud", "clipped", "silent"]


def triangle(phase):
    """A triangle wave over one turn of a 32-bit phase, -32767..32767."""
    high = phase >> 16
    return 2 * (high if high < 32768 else 65535 - high) - 32767


def synthetic(kind):
    """The 16-bit samples of one clip: a rising voice, a steady one and noise."""
    noise, low, low_step, high = 1, 0, 53_687_091, 0
    samples = []
    for _ in range(LENGTHS[kind]):
        noise = (1_664_525 * noise + 1_013_904_223) & 0xFFFF_FFFF
        low_step = (low_step + 6_710) & 0xFFFF_FFFF
        low = (low + low_step) & 0xFFFF_FFFF
        high = (high + 456_340_275) & 0xFFFF_FFFF
        mix = (5 * triangle(low) + 2 * triangle(high) + (noise >> 16) - 32768) >> 3
        samples.append(
            {
                "quiet": mix >> 10,
                "loud": mix,
                "clipped": max(-32768, min(32767, 4 * mix)),
                "silent": 0,
            }[kind]
        )
    return as_f32(np.array(samples, np.int16))


def recording(path):
    """The samples of a mono 16-bit WAV at 16 kHz."""
    with wave.open(path) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16000)
        return as_f32(np.frombuffer(file.readframes(file.getnframes()), "<i2"))


def as_f32(samples):
    return samples.astype(np.float32) / np.float32(32768)
