"""Mutation score: which share of small changes to the code the suite notices.

``python -m benchmarks.mutation map`` runs the suite once under coverage and keeps, in
``.mutation/``, which test reaches which line and how long it takes. ``python -m
benchmarks.mutation score`` draws changes at random from all that cosmic-ray makes, the same number
from every module, and runs on each the tests that reach the changed line until one fails. Results
are kept: a second call goes on where the first one ended. ``python -m benchmarks.mutation again``
gives the survivors another chance, with every test that reaches them, and with the tests written
since. ``python -m benchmarks.mutation table`` prints the score so far and the survivors.

A change that leaves the syntax tree alone but for annotations is none and is not counted.
"""
