"""How long imports take, wherever they happen: a package that imports in its functions is timed like the others."""

import builtins
import time
from types import TracebackType
from typing import Any, Self


class ImportClock:
    """Adds up the seconds of the import statements that are executed inside a ``with``.

    Attributes
    ----------
    seconds
        The sum so far; an import within an import counts once.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._importing = False

    def __enter__(self) -> Self:
        self._original = builtins.__import__
        builtins.__import__ = self._timed
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        builtins.__import__ = self._original

    def _timed(self, *arguments: Any, **options: Any) -> Any:
        if self._importing:
            return self._original(*arguments, **options)
        self._importing = True
        start = time.perf_counter()
        try:
            return self._original(*arguments, **options)
        finally:
            self.seconds += time.perf_counter() - start
            self._importing = False
