"""What nvidia-smi and the packages say, and null where they say nothing."""

from __future__ import annotations

import pytest

from workbook.records import environment

SMI = """#!/bin/sh
case "$*" in
    *clocks.sm*) echo 1980 ;;
    *clocks.mem*) echo 2619 ;;
    *temperature.gpu*) echo "[N/A]" ;;
    *driver_version*) echo 570.1 ;;
esac
"""


@pytest.fixture
def smi(tmp_path, monkeypatch):
    """Puts a nvidia-smi on the path."""

    def put(text):
        program = tmp_path / "nvidia-smi"
        program.write_text(text)
        program.chmod(0o755)
        monkeypatch.setattr("workbook.records.environment.shutil.which", lambda name: str(program))

    return put


def test_clocks_temperature_and_driver_are_stamped(smi, gpu):
    smi(SMI)
    assert environment.conditions(gpu.cuda) == {"clocks_mhz": {"sm": 1980, "memory": 2619}, "temperature_c": None}
    assert environment.of_gpu(gpu.cuda, "G")["driver"] == "570.1"


@pytest.mark.parametrize("program", ["#!/bin/sh\nexit 9\n", "#!/bin/sh\n", "no program"])
def test_an_nvidia_smi_that_fails_leaves_null(smi, gpu, program):
    smi(program)
    assert environment.conditions(gpu.cuda) == {"clocks_mhz": {"sm": None, "memory": None}, "temperature_c": None}
    assert environment.of_gpu(gpu.cuda, "G")["driver"] is None


def test_a_package_that_is_not_installed_is_null(monkeypatch):
    monkeypatch.setattr(environment, "PACKAGES", {"nvvm": "no-such-package-here"})
    assert environment.compilers()["nvvm"] is None


def test_a_host_is_told_apart_but_not_named(monkeypatch):
    monkeypatch.setattr("platform.node", lambda: "one")
    one = environment.host()
    monkeypatch.setattr("platform.node", lambda: "two")
    assert one != environment.host() and one not in ("one", "two") and len(one) == 12
