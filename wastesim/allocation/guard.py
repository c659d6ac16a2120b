"""Somebody else's policy, watched: what goes wrong in it is told as its own, and where.

Only classes that an experiment names are wrapped; wastesim's policies are called as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from traceback import FrameSummary, extract_tb
from types import NoneType
from typing import Any, cast

from wastesim.address import Placement
from wastesim.allocation.accounts import Accounts
from wastesim.allocation.protocol import Ask, Ceiling, Fragmentation, Growth, Holding, Policy
from wastesim.errors import AllocationError, WastesimError

#: verb -> what it may give; no entry where anything that is true or false will do.
_GIVES: dict[str, tuple[type, ...]] = {
    "needs_at_most": (tuple,),
    "place": (Holding, NoneType),
    "grow": (Growth, NoneType),
    "slide": (Holding,),
    "placement": (Placement,),
    "ceiling": (Ceiling,),
    "fragmentation": (Fragmentation, NoneType),
}
_YES_OR_NO = ("fits", "fits_whole")
_NOTHING = ("release", "check")


def guarded(policy: Policy, path: str) -> Policy:
    """The policy as it is, but for what it raises: AllocationError with verb, request and line."""
    return cast(Policy, _Guarded(policy, path))


class _Guarded:
    """Looks like what it holds, to `isinstance` too; only the verbs go through the guard."""

    def __init__(self, policy: Policy, path: str) -> None:
        self._policy, self._path, self._accounts = policy, path, Accounts(policy)
        for verb in (*_GIVES, *_YES_OR_NO, *_NOTHING):
            setattr(self, verb, self._watched(verb, getattr(policy, verb)))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._policy)

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._policy, name)
        except (AttributeError, WastesimError):
            raise
        except Exception as error:
            raise self._raised(name, (), error) from error

    def _watched(self, verb: str, call: Callable[..., Any]) -> Callable[..., Any]:
        kinds = _GIVES.get(verb)

        def watched(*words: Any, **named: Any) -> Any:
            try:
                given = call(*words, **named)
            except WastesimError:  # it says itself what is wrong
                raise
            except Exception as error:
                raise self._raised(verb, words, error) from error
            if kinds is not None and not isinstance(given, kinds):
                raise self._gave(verb, words, given, _one_of(kinds))
            if verb == "needs_at_most" and len(given) != 2:
                raise self._gave(verb, words, given, "two numbers of cells")
            if given is None and verb in _YES_OR_NO:
                raise self._gave(verb, words, given, "True or False")
            self._note(verb, words, given)
            return given

        return watched

    def _note(self, verb: str, words: tuple[Any, ...], given: Any) -> None:
        """Keep the accounts; what does not add up is told of the verb that did it."""
        try:
            if verb == "release":
                self._accounts.released(words[0])
            elif isinstance(given, Holding):  # place and slide
                self._accounts.holds(_request_id(words), given)
            elif isinstance(given, Growth):
                self._accounts.holds(_request_id(words), given.holding)
        except AllocationError as error:
            raise AllocationError(f"{self._what(verb, words)}: {error}") from None
        except Exception as error:  # of `placement` or `free_cells`
            raise self._raised(verb, words, error) from error

    def _raised(self, verb: str, words: tuple[Any, ...], error: Exception) -> AllocationError:
        reason = told(error, type(self._policy))
        return AllocationError(f"{self._what(verb, words)} raised {reason}")

    def _gave(self, verb: str, words: tuple[Any, ...], given: Any, wanted: str) -> AllocationError:
        return AllocationError(f"{self._what(verb, words)} must give {wanted} (got {given!r})")

    def _what(self, verb: str, words: tuple[Any, ...]) -> str:
        request_id = _request_id(words)
        whom = "" if request_id is None else f" for request {request_id}"
        return f"policy {self._path}: `{verb}`{whom}"


def _request_id(words: tuple[Any, ...]) -> Any:
    """Of the request that a verb was asked about."""
    first = words[0] if words else None
    return first.request_id if isinstance(first, Ask) else first


def told(error: BaseException, owner: type | None = None) -> str:
    """`KeyError: 3 (mine.py, line 12: del self.held[request_id])`, in one line.

    The line is the last of those beside `owner`, or of all where it has none.
    """
    text = " ".join(str(error).split())
    name = type(error).__name__
    at = _last_line(extract_tb(error.__traceback__), owner)
    where = "" if at is None else f" ({at.filename}, line {at.lineno}: {at.line})"
    return f"{name}: {text}{where}" if text else f"{name}{where}"


def _last_line(frames: list[FrameSummary], owner: type | None) -> FrameSummary | None:
    """The deepest frame of whoever wrote the policy; None where it was not even entered."""
    file = getattr(sys.modules.get(owner.__module__), "__file__", None) if owner else None
    home = Path(file).resolve().parent if file else None
    foreign = [frame for frame in frames if Path(frame.filename).resolve() != _HERE]
    own = [f for f in foreign if home and home in Path(f.filename).resolve().parents]
    found = own or foreign
    return found[-1] if found else None


def _one_of(kinds: tuple[type, ...]) -> str:
    names = ["None" if kind is NoneType else f"a {kind.__name__}" for kind in kinds]
    return " or ".join("two numbers of cells" if name == "a tuple" else name for name in names)


_HERE = Path(__file__).resolve()
