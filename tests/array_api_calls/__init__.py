"""Calls of every function of the array API standard, drawn by Hypothesis, and `array_api_strict` as their judge.

`calls.CALLS` has a strategy for each function, with arguments of its whole domain as the standard gives it;
`judge.check` makes the calls of one with `xp` and with the judge, and compares values, dtypes, shapes and the names of
results. What is known to differ stands in `differences.EXCEPTIONS`, with its reason and with a call that shows it.

The judge is imported where it is used: the tests are skipped where it is not installed.
"""
