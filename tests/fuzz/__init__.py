"""Random kernels against a plain-Python oracle: the emulated device has to agree, element by element.

python -m tests.fuzz --programs 1000 --seed 0         run programs 0 to 999; each failure is shrunk and printed as a script
python -m tests.fuzz --show 17                        print program 17 as a script that runs both sides
python -m tests.fuzz.mutants                          put known mistakes into copies of simt: the fuzz must find each

generator.py   seed -> Program, and what makes a program's meaning certain; expressions.py: its expressions
tree.py        a Program as data
source.py      Program -> Numba kernel, and the oracle's text of it
oracle.py      threads as Python generators, collectives, typed arithmetic
runner.py      compile, run on the emulated device, compare
apart.py       run programs in a process that may crash
shrink.py      drop what a failure does not need
script.py      a failing program as a file that runs by itself
"""
