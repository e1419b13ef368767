"""Functions of every kind inside a context manager: what the caller sees must not change."""

import asyncio
import contextlib
import functools
import inspect
import types

import pytest

from cunumpy._scoped_calls import scoped, scoped_per_call
from cunumpy.errors import ArgumentTypeError


class Watch:
    """Say whether the context is open, and how often it was entered."""

    def __init__(self):
        self.open = 0
        self.entered = 0

    @contextlib.contextmanager
    def context(self):
        self.open += 1
        self.entered += 1
        try:
            yield
        finally:
            self.open -= 1


@pytest.fixture
def watch():
    watch = Watch()
    yield watch
    assert watch.open == 0


def echo(watch):
    """Reply to what is sent, survive ValueErrors, end on None."""
    received = yield "first"
    while received is not None:
        assert watch.open
        try:
            received = yield received
        except ValueError as error:
            received = yield f"caught {error}"
    return "last"


def drive(generator):
    """Talk to a generator and write down everything it answers."""
    answers = [next(generator), generator.send(1), generator.throw(ValueError("x")), generator.send(2)]
    with pytest.raises(StopIteration) as stop:
        generator.send(None)
    return [*answers, stop.value.value]


def test_plain_function(watch):
    def work(a, b=2):
        assert watch.open == 1
        return a, b

    decorated = scoped(work, watch.context)
    assert decorated(1, b=3) == (1, 3)
    assert decorated.__wrapped__ is work
    assert watch.entered == 1


def test_generator_behaves_like_the_undecorated_one(watch):
    always_open = types.SimpleNamespace(open=1)
    assert drive(scoped(echo, watch.context)(watch)) == drive(echo(always_open))
    assert watch.entered == 5


def test_generator_that_raises(watch):
    def work():
        yield 1
        raise KeyError("k")

    generator = scoped(work, watch.context)()
    assert next(generator) == 1
    with pytest.raises(KeyError, match="k"):
        next(generator)
    with pytest.raises(StopIteration):
        next(generator)


def test_closing_runs_the_clean_up_inside(watch):
    seen = []

    def work():
        try:
            yield
        finally:
            seen.append(watch.open)

    generator = scoped(work, watch.context)()
    next(generator)
    generator.close()
    assert seen == [1]


def test_close_returns_what_the_undecorated_one_returns(watch):
    def work():
        try:
            yield
        except GeneratorExit:
            return "value"

    plain, decorated = work(), scoped(work, watch.context)()
    next(plain)
    next(decorated)
    assert decorated.close() == plain.close()  # a value from Python 3.13 on


def test_ignoring_the_close_is_an_error(watch):
    def work():
        try:
            yield
        except GeneratorExit:
            yield

    generator = scoped(work, watch.context)()
    next(generator)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        generator.close()


def test_delegation(watch):
    def outer(watch):
        return (yield from scoped(echo, watch.context)(watch))

    assert drive(outer(watch)) == ["first", 1, "caught x", 2, "last"]


def test_context_that_fails_closes_the_generator():
    closed = []

    class Failing:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            raise LookupError("at exit")

    def work():
        try:
            yield
        finally:
            closed.append(True)

    with pytest.raises(LookupError, match="at exit"):
        next(scoped(work, Failing)())
    assert closed == [True]


def test_context_does_not_see_the_end_as_an_exception():
    seen = []

    class Context:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            seen.append(kind)

    def generator():
        yield 1

    async def asynchronous():
        yield 1

    async def main():
        return [x async for x in scoped(asynchronous, Context)()]

    assert list(scoped(generator, Context)()) == [1]
    assert asyncio.run(main()) == [1]
    assert set(seen) == {None}


def test_coroutine_is_outside_while_it_waits(watch):
    async def work(n):
        for _ in range(n):
            assert watch.open == 1
            await asyncio.sleep(0)
        return n

    async def main():
        assert await asyncio.gather(*(scoped(work, watch.context)(n) for n in (3, 4))) == [3, 4]
        with pytest.raises(ZeroDivisionError):
            await scoped(fail, watch.context)()

    async def fail():
        await asyncio.sleep(0)
        raise ZeroDivisionError

    assert inspect.iscoroutinefunction(scoped(work, watch.context))
    asyncio.run(main())


def test_cancelled_coroutine_cleans_up_inside(watch):
    seen = []

    async def work():
        try:
            await asyncio.sleep(1000)
        finally:
            seen.append(watch.open)

    async def main():
        task = asyncio.ensure_future(scoped(work, watch.context)())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == [1]


def test_asynchronous_generator(watch):
    async def work():
        try:
            while True:
                assert watch.open == 1
                await asyncio.sleep(0)
                try:
                    received = yield watch.entered > 0
                except KeyError:
                    received = yield "caught"
                if received == "stop":
                    return
        finally:
            await asyncio.sleep(0)
            assert watch.open == 1

    async def main():
        decorated = scoped(work, watch.context)
        assert inspect.isasyncgenfunction(decorated)
        generator = decorated()
        assert await generator.asend(None) is True
        assert watch.open == 0
        assert await generator.athrow(KeyError()) == "caught"
        assert await generator.asend("on") is True
        with pytest.raises(StopAsyncIteration):
            await generator.asend("stop")
        generator = decorated()
        await generator.asend(None)
        await generator.aclose()
        generator = decorated()
        await generator.asend(None)
        with pytest.raises(ZeroDivisionError):
            await generator.athrow(ZeroDivisionError())

    asyncio.run(main())


def test_generator_based_coroutine_can_be_awaited(watch):
    @types.coroutine
    def work():
        assert watch.open == 1
        yield from asyncio.sleep(0).__await__()
        return 3

    async def main():
        return await scoped(work, watch.context)()

    assert asyncio.run(main()) == 3


def test_kinds_are_seen_through_partial_and_callable_objects(watch):
    class Steps:
        def __call__(self, n):
            for i in range(n):
                assert watch.open == 1
                yield i

    assert list(scoped(functools.partial(Steps().__call__, 2), watch.context)()) == [0, 1]
    assert list(scoped(Steps(), watch.context)(3)) == [0, 1, 2]


def test_per_call(watch):
    calls = []

    def start_call():
        calls.append(len(calls))
        return watch.context

    def work():
        yield from range(3)

    decorated = scoped_per_call(work, start_call)
    assert list(decorated()) == list(decorated()) == [0, 1, 2]
    assert calls == [0, 1]
    assert watch.entered == 8


@pytest.mark.parametrize("wrong", [3, None, "work", classmethod(len)])
def test_only_functions(watch, wrong):
    with pytest.raises(ArgumentTypeError, match="expected a function to decorate, got "):
        scoped(wrong, watch.context)
