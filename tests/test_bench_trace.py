"""What a trace is made into."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daxlab.bench.trace import add_up, busy, place

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=12)


@given(SPANS)
def test_a_device_is_busy_in_every_moment_that_a_kernel_covers(spans):
    covered = {moment for begin, length in spans for moment in range(begin, begin + length)}
    assert busy(spans) == pytest.approx(len(covered))


def names(pid, name, threads):
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
    for tid, thread in threads.items():
        yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": thread}}


def test_kernels_of_the_device_are_added_up_and_the_hosts_are_not():
    events = [*names(1, "/host:CPU", {7: "python"}), *names(2, "/device:GPU:0", {8: "Stream #14", 9: "XLA Ops"})]
    for tid, pid, name, at, length in (
        (7, 1, "PjitFunction", 0, 9_000_000),
        (9, 2, "fusion.1", 0, 9_000_000),
        (8, 2, "fusion.1", 0, 1_000_000),
        (8, 2, "fusion_12", 500_000, 1_000_000),
        (8, 2, "conv", 3_000_000, 500_000),
    ):
        args = {"tf_op": "jit(many)/while/body/closed_call/learn/conv:"}
        events.append({"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": at, "dur": length, "args": args})
    told = add_up(events)
    assert (told["kernels"], told["kernel_seconds"], told["busy_seconds"]) == (3, 2.5, 2.0)
    assert told["by_kernel"] == [
        {"name": "fusion", "seconds": 2.0, "calls": 2},
        {"name": "conv", "seconds": 0.5, "calls": 1},
    ]
    assert told["by_place"] == [{"name": "learn/conv", "seconds": 2.5, "calls": 3}]


def test_a_kernel_without_a_place_is_unknown():
    assert place({}) == "unknown"
    assert place({"hlo_op": "add.1"}) == "add.1"
