"""How the runner of numba-cuda's own tests fares with names that are no tests."""
from __future__ import annotations

from tests.upstream import runner


def test_a_module_that_does_not_exist_is_told_and_ends_the_run():
    [result] = runner.run_shard(["cudapy/test_no_such_module.py"]).values()
    assert (result.test, result.outcome) == ("cudapy/test_no_such_module.py", "crashed")
    assert "not found" in result.message


def test_names_are_found_wherever_numba_cuda_is_installed():
    assert runner.address("cudapy/test_sm.py") == "numba.cuda.tests.cudapy.test_sm"
    assert runner.address("cudapy/test_sm.py::A::test_b") == "numba.cuda.tests.cudapy.test_sm::A::test_b"
    assert {name.partition("/")[0] for name in runner.modules()} == {"cudadrv", "cudapy", "doc_examples"}
