"""Deviations: the ways in which programs of users differ from the library's own code, run on every fix by machine.

A fix has a case that its bug breaks. A *program* is such a case with one deviation: a subclass in another module, a
custom loss, a hook, an omitted argument. Each program runs three times: in stock on a broken release, in stock on the
release that the matrix takes as reference, and armed with this one fix on the broken release.

    python -m tools.deviations                       everything that has no result yet; may be interrupted
    python -m tools.deviations --fix ID --list       lists the programs that would run
    python -m tools.deviations --page                writes docs/deviations.md from the results

The rule (`judge.py`): if stock already equals the reference, the armed process must give the same bits. Otherwise it
must equal the reference or stock. Anything else is a harm, above all an error in a program that runs in stock.

    library.py    the table of all deviations; classes.py, instances.py, calls.py, attention.py, training.py,
                  reading.py, surroundings.py declare them, by topic
    scene.py      what a deviation can change in the process in which the case runs
    child.py      runs one case with many deviations, each in a fork
    values.py     turns results into tensors and texts, and compares them
    judge.py      compares the three runs of a program
    table.py      chooses the programs, runs them, and keeps the results in docs/data/deviations/
    page.py       docs/deviations.md
"""
