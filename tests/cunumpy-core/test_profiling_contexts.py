"""Counters, rules and budgets belong to the thread, task, generator or coroutine that opened them."""

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from cunumpy import _transfers
from cunumpy.errors import ScopeError
from cunumpy.profiling import (
    TransferBudget,
    TransferCounter,
    allow_transfers,
    assert_no_transfers,
    count_transfers,
    forbid_transfers,
)
from recorded_transfers import transfer


def in_threads(work, count=8):
    barrier = threading.Barrier(count)

    def run(index):
        barrier.wait()
        return work(index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.parametrize("block", [count_transfers, assert_no_transfers, forbid_transfers, allow_transfers])
def test_leaving_what_was_not_entered(block) -> None:
    with pytest.raises(ScopeError, match=rf"{block.__name__}: the block was left without having been entered"):
        block().__exit__(None, None, None)


def test_threads_see_their_own_events_only():
    def work(index):
        seen = []
        for round_ in range(20):
            with count_transfers() as counter:
                for _ in range(index + 1):
                    transfer(description=f"{index}/{round_}")
            seen.append({event.description for event in counter.events} == {f"{index}/{round_}"})
            seen.append(counter.total == index + 1)
        return all(seen)

    with count_transfers() as outside:
        assert all(in_threads(work))
    assert outside.total == 0


def test_threads_of_a_shared_counter_lose_nothing():
    for counter in (TransferCounter(), TransferCounter(keep_events=False)):

        def work(index, counter=counter):
            for _ in range(20):
                with count_transfers(counter):
                    transfer()
                counter.report()

        in_threads(work)
        assert counter.total == 160


def test_counter_for_all_threads():
    with count_transfers(all_threads=True) as counter:
        in_threads(lambda index: [transfer() for _ in range(20)])
        transfer()
    in_threads(lambda index: transfer())
    assert counter.total == 161
    assert len({event.thread_id for event in counter.events}) > 1
    names = {event.thread_id: event.thread for event in counter.events}
    assert names[threading.get_ident()] == threading.current_thread().name


def test_rules_do_not_reach_other_threads():
    with forbid_transfers():
        in_threads(lambda index: transfer())


def test_one_block_object_in_several_threads():
    block = count_transfers()

    def work(index):
        results = []
        for _ in range(20):
            with block as counter:
                for _ in range(index):
                    transfer()
            results.append(counter.total == index)
        return all(results)

    assert all(in_threads(work))


def test_budget_phases_of_threads_do_not_mix():
    budget = TransferBudget()

    def work(index):
        for _ in range(20):
            with budget.phase(f"phase {index}"):
                transfer(description=str(index))

    in_threads(work)
    for index in range(8):
        counter = budget[f"phase {index}"]
        assert {event.description for event in counter.events} == {str(index)}
        assert counter.total == budget.calls[f"phase {index}"] == 20


def test_budget_phase_shared_by_threads_counts_every_call():
    budget = TransferBudget()

    def work(index):
        for _ in range(20):
            with budget.phase("step"):
                transfer()

    in_threads(work)
    assert budget.calls == {"step": 160}
    assert budget["step"].total == 160


def test_tasks_see_their_own_events_only():
    async def work(index):
        with count_transfers() as counter:
            for _ in range(20):
                transfer(description=str(index))
                await asyncio.sleep(0)
        return {event.description for event in counter.events} == {str(index)} and counter.total == 20

    async def main():
        return await asyncio.gather(*(work(index) for index in range(8)))

    assert all(asyncio.run(main()))


def test_task_started_in_a_block_belongs_to_it_until_the_block_ends():
    async def work(resume):
        transfer()
        await resume.wait()
        transfer()
        return _transfers.watching()

    async def main():
        resume = asyncio.Event()
        with count_transfers() as counter:
            task = asyncio.create_task(work(resume))
            await asyncio.sleep(0)
        resume.set()
        assert await task is False
        return counter.total

    assert asyncio.run(main()) == 1


def test_forbidden_in_one_task_only():
    async def careful():
        with forbid_transfers():
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def free():
        for _ in range(4):
            transfer()
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(careful(), free())

    asyncio.run(main())


class TestDecorators:
    def test_generator(self):
        counter = TransferCounter()

        @count_transfers(counter)
        def steps(n):
            for i in range(n):
                transfer(description="body")
                received = yield i
                if received:
                    transfer(description=received)
            return "done"

        generator = steps(2)
        assert inspect.isgeneratorfunction(steps)
        assert counter.total == 0
        assert next(generator) == 0
        transfer(description="consumer")
        assert generator.send("sent") == 1
        with pytest.raises(StopIteration) as stop:
            next(generator)
        assert stop.value.value == "done"
        assert [event.description for event in counter.events] == ["body", "sent", "body"]

    def test_generator_that_fails_or_is_closed(self):
        counter = TransferCounter()

        @count_transfers(counter)
        def steps():
            try:
                while True:
                    try:
                        yield
                    except KeyError:
                        transfer(description="caught")
            finally:
                transfer(description="closed")

        generator = steps()
        next(generator)
        generator.throw(KeyError())
        generator.close()
        assert [event.description for event in counter.events] == ["caught", "closed"]
        assert not _transfers.watching()

    def test_coroutine(self):
        counter = TransferCounter()

        @count_transfers(counter)
        async def work():
            transfer(description="body")
            await asyncio.sleep(0)
            transfer(description="body")
            return 5

        async def other():
            for _ in range(4):
                transfer(description="other")
                await asyncio.sleep(0)

        async def main():
            return (await asyncio.gather(work(), other()))[0]

        assert inspect.iscoroutinefunction(work)
        assert asyncio.run(main()) == 5
        assert [event.description for event in counter.events] == ["body", "body"]

    def test_asynchronous_generator(self):
        counter = TransferCounter()

        @count_transfers(counter)
        async def steps(n):
            try:
                for i in range(n):
                    await asyncio.sleep(0)
                    transfer(description="body")
                    yield i
            finally:
                transfer(description="closed")

        async def main():
            generator = steps(5)
            seen = []
            async for i in generator:
                transfer(description="consumer")
                seen.append(i)
                if i == 1:
                    break
            await generator.aclose()
            return seen

        assert inspect.isasyncgenfunction(steps)
        assert asyncio.run(main()) == [0, 1]
        assert [event.description for event in counter.events] == ["body", "body", "closed"]

    def test_assert_no_transfers_at_each_resume(self):
        @assert_no_transfers()
        def steps():
            yield
            transfer()
            yield

        generator = steps()
        next(generator)
        transfer()
        with pytest.raises(AssertionError, match="to_host"):
            next(generator)
        with pytest.raises(StopIteration):
            next(generator)

    def test_forbid_transfers_holds_in_the_body_only(self):
        @forbid_transfers()
        async def work():
            await asyncio.sleep(0)
            transfer()

        async def main():
            with pytest.raises(AssertionError):
                await work()
            transfer()

        asyncio.run(main())

    def test_budget_generator_is_one_call(self):
        budget = TransferBudget()

        @budget.count("steps")
        def steps():
            for _ in range(3):
                transfer()
                yield

        with budget.phase("outer"):
            for _ in steps():
                transfer("to_device")
        assert budget.calls == {"outer": 1, "steps": 1}
        assert (budget["steps"].to_host, budget["steps"].to_device) == (3, 0)
        assert (budget["outer"].to_host, budget["outer"].to_device) == (0, 3)

    def test_budget_coroutines_interleave(self):
        budget = TransferBudget()

        def make(name):
            @budget.count(name)
            async def work():
                for _ in range(5):
                    transfer(description=name)
                    await asyncio.sleep(0)

            return work

        async def main():
            await asyncio.gather(make("a")(), make("b")(), make("a")())

        asyncio.run(main())
        assert budget.calls == {"a": 2, "b": 1}
        assert {event.description for event in budget["a"].events} == {"a"}
        assert (budget["a"].total, budget["b"].total) == (10, 5)

    def test_budget_generator_counts_from_the_start(self):
        budget = TransferBudget(started=False)

        @budget.count("steps")
        def steps():
            while True:
                transfer()
                yield

        generator = steps()
        next(generator)  # warm-up
        budget.start()
        next(generator)
        next(generator)
        assert budget.calls == {"steps": 1}
        assert budget["steps"].total == 2


def test_block_left_in_another_thread_is_closed_and_no_other():
    def generator():
        with count_transfers() as counter:
            yield counter

    suspended = generator()
    counter = next(suspended)
    with count_transfers() as other:
        thread = threading.Thread(target=suspended.close)
        thread.start()
        thread.join()
        transfer()
    assert counter.total == 0
    assert other.total == 1
    assert not _transfers.watching()


def test_blocks_left_out_of_order():
    def generator():
        with count_transfers() as counter:
            yield counter

    first, second = generator(), generator()
    counters = [next(first), next(second)]
    first.close()
    transfer()
    second.close()
    transfer()
    assert [counter.total for counter in counters] == [0, 1]
