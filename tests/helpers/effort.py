"""How much work something is, whatever else the machine does."""

import sys


def calls(work):
    """Return how many functions `work` calls, in Python and C: as many as rows, if it takes the rows one by one."""
    number = 0

    def count(frame, event, argument):
        nonlocal number
        number += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return number
