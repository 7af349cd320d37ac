"""Watch a peer's own modules from outside while they run.

The modules run as shipped. Wrapped are their calls and, for what happens inside one, the names
`mx` and `nn`, or `torch` and `nn`, that its code sees: a stand-in for a library passes everything
through and keeps what some functions return. Both peers are written alike, so one description of
what happens inside serves both; `Observer.stand_ins` says under which names a peer sees its
library.
"""

from contextlib import contextmanager
from functools import partial, wraps

import boundaries


class Delegate:
    """A library in which some names are replaced."""

    def __init__(self, real, replaced):
        self.__dict__.update(replaced)
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)


def watched(real, watchers):
    """`real`, its functions wrapped by the watchers of their names."""
    functions = {n: partial(w, getattr(real, n)) for n, w in watchers.items() if hasattr(real, n)}
    return Delegate(real, functions)


@contextmanager
def replaced(namespace, names):
    before = {name: getattr(namespace, name) for name in names}
    try:
        for name, value in names.items():
            setattr(namespace, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(namespace, name, value)


class Observer:
    """Keeps boundaries by name, in the order in which they are computed.

    `call` names the method that runs a module, `namespace` is where the audio modules' code looks
    names up, and `stand_ins(watchers)` gives the names there with watched libraries.
    """

    def __init__(self, call, namespace, stand_ins):
        self.call, self.namespace, self.stand_ins = call, namespace, stand_ins
        self.names, self.values, self.embedding = {}, {}, None

    def attach(self, modules, blocks, heads):
        """Begins anew with a model's modules, given with their paths."""
        modules, names = list(modules), boundaries.of_modules(blocks)
        self.names = {id(module): names[path] for path, module in modules if path in names}
        assert len(self.names) == len(names), names.keys()
        # Keys are identities: the modules must live.
        self.modules = modules
        self.values, self.heads = {}, heads

    def name(self, module):
        """The boundary that a module's result is, if it is one in this call."""
        name = self.names.get(id(module))
        if name and "{}" in name:
            return name.format(self.embedding) if self.embedding else None
        return name

    def record(self, name, value):
        assert name not in self.values, f"{name} was captured twice"
        self.values[name] = value

    def wrap(self, cls, method, around):
        """Replaces a method by `around(name of the module, original, arguments)`, where it has a
        name."""
        original = getattr(cls, method)

        @wraps(original)
        def wrapper(module, *arguments, **keywords):
            bound = partial(original, module, **keywords)
            if name := self.name(module):
                return around(name, bound, *arguments)
            return bound(*arguments)

        setattr(cls, method, wrapper)

    def results(self, cls, arrange=lambda name, value: value):
        """Records what the modules of a class return."""

        def around(name, run, *arguments):
            result = run(*arguments)
            self.record(name, arrange(name, result))
            return result

        self.wrap(cls, self.call, around)

    def inside(self, cls, watchers):
        """Watches the functions that `watchers(name)` names while a module of a class runs."""

        def around(name, run, *arguments):
            with replaced(self.namespace, self.stand_ins(watchers(name))):
                return run(*arguments)

        self.wrap(cls, self.call, around)

    def keep(self, name):
        """A watcher that records what the function returns."""

        def watcher(function, *arguments, **keywords):
            result = function(*arguments, **keywords)
            self.record(name, result)
            return result

        return watcher
