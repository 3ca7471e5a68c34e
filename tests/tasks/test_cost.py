"""What the cost of a thread must show."""

from __future__ import annotations

from rig.tasks.cost import cost_data, cost_lines, measure_thread_cost


def test_a_thread_has_a_stack_and_an_asyncio_task_has_none() -> None:
    measured = measure_thread_cost((300,), ("threads", "asyncio", "greenlets"), 1)
    thread, task, greenlet = measured
    assert [cost.kind for cost in measured] == ["threads", "asyncio", "greenlets"]
    assert all(cost.create_us > 0 and cost.own_kb > 0 for cost in measured)
    assert thread.own_kb > task.own_kb
    assert thread.address_kb > 10 * max(task.address_kb, greenlet.address_kb)
    lines = list(cost_lines(measured))
    assert [line.split()[0] for line in lines[1:4]] == ["threads", "asyncio", "greenlets"]
    assert lines[-1].startswith("with 300 waiting at the same time, a thread took ")
    assert [cost["count"] for cost in cost_data(measured)["costs"]] == [300] * 3
