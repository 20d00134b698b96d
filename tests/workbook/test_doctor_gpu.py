"""The doctor on GPUs, drivers and their libraries, all of them made up."""

from __future__ import annotations

import pytest

from simt.driver.probe import Answer
from workbook.doctor import gpu

H100 = {"name": "NVIDIA H100", "driver": "580.95.05"}
WSL = ("Linux", "x86_64", "glibc", "5.15.0-microsoft-standard-WSL2")


def only(findings):
    (found,) = findings
    return found


def test_no_gpu_is_no_problem(machine):
    assert only(gpu.gpu(machine())).text == "none found; none is needed"
    assert only(gpu.driver(machine())).status == "ok"


def test_a_gpu_is_named_with_its_compute_capability(machine):
    found = only(gpu.gpu(machine(driver=Answer(13_000, 1, 90), smi=[H100])))
    assert (found.status, found.text) == ("ok", "NVIDIA H100; compute capability 9.0")


def test_a_gpu_without_nvidia_smi_is_counted(machine):
    assert only(gpu.gpu(machine(driver=Answer(13_000, 2, 90)))).text == "2 without a name; compute capability 9.0"


def test_a_gpu_too_old_is_a_note_since_nothing_can_be_done(machine):
    found = only(gpu.gpu(machine(driver=Answer(13_000, 1, 61))))
    assert found.status == "note" and "7.5 is needed" in found.text


def test_a_gpu_hidden_by_a_variable_is_said(machine):
    found = only(gpu.gpu(machine(driver=Answer(13_000, 0, 0), environ={"CUDA_VISIBLE_DEVICES": ""})))
    assert found.status == "ok" and "CUDA_VISIBLE_DEVICES='' may hide it" in found.text


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        ("no usable CUDA GPU: cuInit failed with CUDA error 803", "restart the machine"),
        ("no usable CUDA GPU: cuInit failed with CUDA error 34", "stubs out of LD_LIBRARY_PATH"),
        ("no usable CUDA GPU: OSError: libcuda.so.1: cannot open shared object file", "docker run --gpus all"),
        ("the CUDA driver did not answer within 20 s", "restart the machine; then nvidia-smi"),
    ],
)
def test_a_gpu_whose_driver_does_not_work_is_a_problem_with_its_remedy(machine, answer, advice):
    found = only(gpu.gpu(machine(driver=answer)))
    assert found.status == "problem" and advice in found.advice


def test_error_100_means_no_gpu(machine):
    assert only(gpu.gpu(machine(driver="no usable CUDA GPU: cuInit failed with CUDA error 100"))).status == "ok"


def test_wsl_without_a_driver_library_has_no_gpu(machine):
    no_library = "no usable CUDA GPU: OSError: libcuda.so.1: cannot open shared object file"
    assert only(gpu.gpu(machine(driver=no_library, platform=WSL))).status == "ok"


def test_an_old_driver_is_compared_with_the_compiler(machine):
    old = machine(driver=Answer(12_040, 1, 75), smi=[{"name": "Tesla T4", "driver": "550.54.15"}])
    found = only(gpu.driver(old))
    assert found.status == "problem"
    assert found.text == "driver 550.54.15 supports PTX 8.4 (CUDA 12.4), compiler emits 9.5"
    assert "release 580 or newer" in found.advice and "emulated device" in found.advice


def test_a_driver_of_the_same_major_reads_machine_code_and_not_the_newer_ptx(machine):
    found = only(gpu.driver(machine(driver=Answer(13_010, 1, 90), smi=[H100])))
    assert found.status == "ok"
    assert found.text.startswith("driver 580.95.05 supports PTX 9.1 (CUDA 13.1), compiler emits 9.5: nvJitLink")


def test_a_driver_as_new_as_the_compiler_is_fine(machine):
    found = only(gpu.driver(machine(driver=Answer(13_050, 1, 90))))
    assert (found.status, found.text) == ("ok", "driver supports PTX 9.5 (CUDA 13.5), compiler emits 9.5")


def test_the_table_of_ptx_versions_is_that_of_cuda_bindings():
    from cuda.bindings.utils import get_minimal_required_cuda_ver_from_ptx_ver as cuda_of

    theirs = {ptx: cuda_of(ptx) for ptx in gpu.PTX_OF_CUDA.values()}
    assert theirs == {ptx: 1000 * major + 10 * minor for (major, minor), ptx in gpu.PTX_OF_CUDA.items()}


@pytest.mark.parametrize(("number", "ptx"), [(12_060, "8.5"), (13_090, "9.5"), (8_000, "6.0")])
def test_releases_between_and_beyond_the_table_read_what_the_one_before_reads(number, ptx):
    assert gpu.newest_ptx(number) == ptx


@pytest.fixture
def library(tmp_path):
    """Makes a driver library in a folder of that name; `bits` 32 for one that no process of ours can load."""

    def make(folder, bits=64, name="libcuda.so.1"):
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True)
        path.write_bytes(b"\x7fELF" + bytes([bits // 32]) + bytes(11))
        return str(path)

    return make


def listed(*paths):
    return "".join(f"\tlibcuda.so.1 (libc6,x86-64) => {path}\n" for path in paths)


def test_without_a_driver_library_none_is_needed(machine):
    found = only(gpu.libcuda(machine(ldconfig=listed("/nowhere/libcuda.so.1"))))
    assert (found.status, found.text) == ("ok", "no driver library, and none is needed")


def test_one_library_is_fine_and_its_links_and_32_bit_sisters_are_not_counted(machine, library, tmp_path):
    path = library("lib")
    (tmp_path / "lib" / "libcuda.so").symlink_to(path)
    found = only(gpu.libcuda(machine(ldconfig=listed(path, library("lib32", 32), tmp_path / "lib" / "libcuda.so"))))
    assert (found.status, found.facts["findable"]) == ("ok", [path])


def test_two_libraries_to_be_found_are_a_note_that_says_which_is_taken(machine, library, tmp_path):
    first, second = library("compat"), library("lib")
    found = only(gpu.libcuda(machine(ldconfig=listed(second), environ={"LD_LIBRARY_PATH": str(tmp_path / "compat")})))
    assert found.status == "note" and found.text.endswith(f"the first is taken: {first}, {second}")


def test_a_linux_driver_inside_wsl_is_a_problem(machine, library):
    found = only(gpu.libcuda(machine(ldconfig=listed(library("wsl"), library("lib")), platform=WSL)))
    assert found.status == "problem" and "apt purge" in found.advice


def test_two_mapped_drivers_are_a_problem(machine):
    mapped = ["/usr/lib/libcuda.so.550.54", "/usr/local/cuda/compat/libcuda.so.580.95", "/memfd:libcuda.so.1 (deleted)"]
    found = only(gpu.libcuda(machine(trial={"mapped": mapped})))
    assert found.status == "problem"
    assert found.text == f"two drivers are loaded at once: {mapped[0]} and {mapped[1]}"


def test_the_two_parts_of_wsls_driver_are_one(machine):
    mapped = ["/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1/libcuda.so.1.1", "/usr/lib/wsl/lib/libcuda.so.1"]
    found = only(gpu.libcuda(machine(trial={"mapped": mapped}, platform=WSL)))
    assert (found.status, found.facts["mapped"]) == ("ok", mapped[1:])


def test_a_stub_is_a_problem(machine, library, tmp_path):
    library("stubs", name="libcuda.so")
    found = only(gpu.libcuda(machine(environ={"LD_LIBRARY_PATH": str(tmp_path / "stubs")})))
    assert found.status == "problem" and "is a stub" in found.text
