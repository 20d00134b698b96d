"""What a profile shows: sections as in Nsight Compute, rules that give advice, and how to print them.

Pure functions of a launch's profile and its device. A report is made in steps, one file each:

    subject.py    a launch, its device, and what follows from both
    sections.py   rows of numbers; whatif.py has the tables of the occupancy
    lines.py      which lines of the program take the time
    rules.py      advice, each piece tied to a line; global_rules.py, memory_rules.py and reuse_rules.py have those on memory
    data.py, text.py, html.py   the same report as JSON, for a terminal, for a notebook; html_source.py: its source view
"""
