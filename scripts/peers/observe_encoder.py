"""What is watched inside the encoder's modules; see observe.py."""

from boundaries import NORM_STATISTICS


def split_heads(observer):
    """Gives the results of the projections of attention the shape they are used in."""

    def arrange(name, value):
        part = name.rpartition(".")[2]
        if ".attention." in name and part in ("query", "key", "value"):
            return value.reshape(*value.shape[:-1], observer.heads, -1)
        if part == "relative_key":
            return value.reshape(value.shape[1], observer.heads, -1)
        return value

    return arrange


def observe_encoder(observer, cumulative_norm):
    """Watches the inside of the encoder's modules, whose classes have the same names in both
    peers except for the cumulative norm."""
    code = observer.namespace
    observer.inside(cumulative_norm, lambda name: norm_watchers(observer, name))
    observer.inside(
        code.Gemma3nAudioConformerFeedForward,
        lambda name: {"silu": observer.keep(f"{name}.silu")},
    )
    observe_attention(observer)
    observe_light_conv(observer)


def observe_light_conv(observer):
    cls = observer.namespace.Gemma3nAudioConformerLightConv1d
    observer.inside(
        cls,
        lambda name: {
            "glu": observer.keep(f"{name}.gate"),
            "silu": observer.keep(f"{name}.silu"),
        },
    )

    def around(name, run, encodings):
        observer.record(f"{name}.masked_input", encodings)
        return run(encodings)

    observer.wrap(cls, observer.call, around)


def observe_attention(observer):
    attention = observer.namespace.Gemma3nAudioAttention
    relative = observer.namespace.Gemma3nAudioRelativePositionEmbedding
    observer.inside(attention, lambda name: attention_watchers(observer, layer(name)))

    def scaled(name, run, queries, *rest):
        observer.record(f"{layer(name)}.query_scaled", queries)
        return run(queries, *rest)

    observer.wrap(attention, "_convert_to_block", scaled)

    def content(name):
        rest = iter([f"{layer(name)}.content_logits"])

        def matmul(function, *arguments):
            result = function(*arguments)
            for first in rest:
                observer.record(first, result)
            return result

        return {"matmul": matmul}

    observer.inside(relative, content)
    for method, part in {
        "_get_timing_signal_1d_pos": "position_signal",
        "_relative_shift": "relative_shift",
    }.items():

        def around(name, run, *arguments, part=part):
            result = run(*arguments)
            observer.record(f"{layer(name)}.{part}", result)
            return result

        observer.wrap(relative, method, around)


def layer(name):
    return name.rpartition(".")[0]


def attention_watchers(observer, name):
    def where(function, allowed, logits, invalid):
        observer.record(f"{name}.softcap", logits)
        result = function(allowed, logits, invalid)
        observer.record(f"{name}.masked", result)
        return result

    def softmax(function, *arguments, **keywords):
        result = function(*arguments, **keywords)
        return Uncast(result, lambda cast: observer.record(f"{name}.probabilities", cast))

    scale = observer.keep(f"{name}.query_scale")
    return {"logaddexp": scale, "softplus": scale, "where": where, "softmax": softmax}


class Uncast:
    """What softmax returned, watched for the one thing the peers do with it: cast it."""

    def __init__(self, value, record):
        self.value, self.record = value, record

    def astype(self, dtype):
        return self.cast(self.value.astype(dtype))

    def to(self, dtype):
        return self.cast(self.value.to(dtype=dtype))

    def cast(self, result):
        self.record(result)
        return result


def norm_watchers(observer, name):
    total, running, mean, squared, running_squared, variance, inverse = (
        f"{name}.{part}" for part in NORM_STATISTICS
    )
    # In call order; the second sum and the second running sum count elements.
    sums = iter([total, None, squared])
    running_sums = iter([(running, mean), None, (running_squared, variance)])

    def sum_(function, *arguments, **keywords):
        result = function(*arguments, **keywords)
        if part := next(sums):
            observer.record(part, result)
        return result

    def cumsum(function, *arguments, **keywords):
        result = function(*arguments, **keywords)
        if parts := next(running_sums):
            observer.record(parts[0], result)
            return RunningSum(result, lambda quotient: observer.record(parts[1], quotient))
        return result

    return {"sum": sum_, "cumsum": cumsum, "rsqrt": observer.keep(inverse)}


class RunningSum:
    """What cumsum returned, watched for the one thing the peers do with it: divide."""

    def __init__(self, value, record):
        self.value, self.record = value, record

    def __truediv__(self, count):
        result = self.value / count
        self.record(result)
        return result
