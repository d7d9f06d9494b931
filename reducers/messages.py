"""Messages of exceptions that users' code raised: shortened and made printable, to be stored and shown."""

LONGEST = 1_000  # characters of a message that are kept


def message_of(error: BaseException) -> str:
    """The message of an exception, also when it cannot be had."""
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001 - a message that cannot be made must not hide the failure itself
        return f"(its message could not be made: {type(broken).__name__})"
    shown = "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text[:LONGEST])
    return shown if max(len(text), len(shown)) <= LONGEST else shown[: LONGEST - 1] + "…"


def told(error: BaseException) -> str:
    """An exception by its class and its message."""
    return f"{type(error).__name__}: {message_of(error)}"


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()
