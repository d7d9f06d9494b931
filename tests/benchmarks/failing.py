"""A measurement that fails, as code with tasks does."""


def grouped() -> None:
    """Fail with a group of errors."""
    raise ExceptionGroup("several", [ExceptionGroup("of them", [ValueError("no room,\nnot even here")]), OSError()])
