"""What swingby raises and warns with.

Every message names the argument, the value given, the requirement, and the statement the
requirement comes from.
"""

from __future__ import annotations


class SwingbyError(Exception):
    """Base class of every error that swingby raises on purpose."""


#: In place of a value that was not given at all.
MISSING = "nothing"


class InvalidInput(SwingbyError, ValueError):
    """An argument that no statement of the theory can be applied to.

    Parameters
    ----------
    argument : str
        Name of the argument, as the caller wrote it.
    value : object
        The value given, shortened when it is long; :data:`MISSING` when there was none.
    requirement : str
        What the value has to satisfy.
    source : str, optional
        The statement of the paper that asks for it.

    Examples
    --------
    >>> raise InvalidInput("eta", -0.1, "must be positive", "(D.2)")
    Traceback (most recent call last):
        ...
    swingby.errors.InvalidInput: eta must be positive, got -0.1 (D.2)
    """

    def __init__(self, argument: str, value: object, requirement: str, source: str = "") -> None:
        self.argument = argument
        self.value = value
        self.requirement = requirement
        self.source = source
        try:
            shown = " ".join(str(value).split())
        except ValueError:  # Python refuses to print whole numbers of more than 4300 digits
            shown = "a number of thousands of digits"
        if len(shown) > 60:
            shown = shown[:57] + "..."
        if not shown:
            shown = repr(value)
        tail = f" ({source.strip('()')})" if source else ""
        got = "" if value is MISSING else f", got {shown}"
        super().__init__(f"{argument} {requirement}{got}{tail}")

    def __reduce__(self) -> tuple[type[InvalidInput], tuple[str, object, str, str]]:
        return (type(self), (self.argument, self.value, self.requirement, self.source))


class BudgetSpent(KeyboardInterrupt):
    """A limit set by the user was reached. Like Ctrl-C, it is no error that work may swallow."""


class Undecided(SwingbyError):
    """A truth value was asked of a verdict that is undecided."""


class MissingExtra(SwingbyError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    package : str
        The package that could not be imported.
    extra : str
        The extra that installs it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'{package} is not installed: pip install "swingby[{extra}]"')


class SwingbyWarning(UserWarning):
    """A result that needs a second look, with the reason."""
