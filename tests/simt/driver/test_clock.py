"""Device time: how streams, events and the host wait for each other."""
from __future__ import annotations

import pytest

from simt.driver.clock import NON_BLOCKING, Clock


@pytest.fixture
def clock():
    return Clock()


def test_work_on_one_stream_adds_up(clock):
    stream = clock.new_stream(0, 0)
    clock.advance(stream, 100)
    clock.advance(stream, 50)
    assert stream.end_ns == 150


def test_two_streams_run_at_the_same_time(clock):
    first, second = clock.new_stream(0, 0), clock.new_stream(0, 0)
    clock.advance(first, 100)
    clock.advance(second, 30)
    assert (first.end_ns, second.end_ns) == (100, 30)


def test_work_on_the_legacy_stream_waits_for_blocking_streams_and_they_for_it(clock):
    blocking, free = clock.new_stream(0, 0), clock.new_stream(NON_BLOCKING, 0)
    clock.advance(blocking, 100)
    clock.advance(free, 500)
    clock.advance(clock.legacy, 10)
    assert clock.legacy.end_ns == 110
    clock.advance(blocking, 1)
    clock.advance(free, 1)
    assert (blocking.end_ns, free.end_ns) == (111, 501)


def test_what_the_host_waited_for_delays_what_it_enqueues_later(clock):
    first, second = clock.new_stream(NON_BLOCKING, 0), clock.new_stream(NON_BLOCKING, 0)
    clock.advance(first, 100)
    clock.join(first)
    clock.advance(second, 5)
    assert second.end_ns == 105


def test_joining_the_device_waits_for_every_stream(clock):
    free = clock.new_stream(NON_BLOCKING, 0)
    clock.advance(free, 70)
    clock.join_all()
    assert clock.host_ns == 70


def test_a_stream_that_waits_for_a_moment_starts_no_earlier(clock):
    stream = clock.new_stream(0, 0)
    clock.wait(stream, 40)
    clock.advance(stream, 1)
    assert stream.end_ns == 41
    clock.wait(stream, 10)
    assert stream.end_ns == 41


def test_destroying_a_stream_does_not_undo_its_time(clock):
    stream = clock.new_stream(0, 0)
    clock.advance(stream, 60)
    clock.drop(stream)
    assert clock.start_ns(clock.legacy) == 60


def test_a_thread_keeps_its_own_default_stream(clock):
    assert clock.per_thread() is clock.per_thread()
    assert clock.per_thread() is not clock.legacy
