"""Python of a page: code that may `await` at the top, and comments that say what comes of it.

    await run.state()      # -> Order(status='paid')           what it gives; or what it prints, when it gives None
    order(state, event)    # raises ValueError: no such thing   what it raises

Such a comment stands behind a statement, or in lines of its own under it; further lines of the comment go on with it.
What comes of the statement must be that text, blanks aside; `...` stands for anything.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from types import CodeType
from typing import Any

import msgspec

_SAYS = re.compile(r"# (?P<kind>->|raises) ?(?P<text>.*)")


class Said(msgspec.Struct):
    """A comment that says what comes of a statement: where it begins, and whether it has its lines for itself."""

    kind: str
    text: str
    line: int
    column: int
    alone: bool
    until: int  # its last line


def checked(text: str, file: str, line: int) -> CodeType:
    """A block's code, in which each comment that says what comes of a statement is a check.

    Args:
        text: the block.
        file: the page.
        line: where the block begins in it.

    Raises:
        ValueError: such a comment stands at no statement.
    """
    tree = ast.parse(text, file)
    for said in _said(text):
        found = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.stmt)
            and node.end_lineno == said.line - said.alone
            and (not said.alone or node.col_offset == said.column)
        ]
        if not found:
            raise ValueError(f"{file}:{line + said.line - 1}: nothing that {said.kind} {said.text!r} is said of")
        _check(tree, max(found, key=lambda node: node.col_offset), said)
    ast.increment_lineno(ast.fix_missing_locations(tree), line - 1)
    code: CodeType = compile(tree, file, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return code


def _said(text: str) -> list[Said]:
    """The comments that say something, each with the lines that go on with it."""
    found: list[Said] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        (line, column), alone = token.start, not token.line[: token.start[1]].strip()
        begins = _SAYS.fullmatch(token.string)
        last = found[-1] if found else None
        if last and alone and last.until == line - 1 and (not begins or begins["kind"] == last.kind == "->"):
            last.text += "\n" + (begins["text"] if begins else token.string[1:])
            last.until = line
        elif begins:
            found.append(Said(begins["kind"], begins["text"], line, column, alone, line))
    return found


def _check(tree: ast.Module, statement: ast.stmt, said: Said) -> None:
    """Put a statement into the check of what is said of it; a value is handed to the check first."""
    if said.kind == "->" and isinstance(statement, ast.Expr):
        statement.value = ast.Call(ast.Name("_gives_", ast.Load()), [statement.value], [])
    check = ast.Call(ast.Name("_check_", ast.Load()), [ast.Constant(said.kind), ast.Constant(said.text)], [])
    around = ast.With([ast.withitem(check)], [statement])
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and statement in body and node is not around:
                body[body.index(statement)] = ast.copy_location(around, statement)


class Checks:
    """What the checks in a page's code do.

    Attributes:
        names: what the code calls them.
        made: how many there were.
    """

    def __init__(self) -> None:
        self.names = {"_check_": self._check, "_gives_": self._gives}
        self.made = 0
        self._given: Any = None

    def _gives(self, value: Any) -> None:
        self._given = value

    @contextmanager
    def _check(self, kind: str, text: str) -> Iterator[None]:
        self._given, printed, raised = None, io.StringIO(), ""
        try:
            with redirect_stdout(printed):
                yield
        except Exception as error:
            if kind != "raises":
                raise
            raised = f"{type(error).__name__}: {error}"
        self.made += 1
        gave = printed.getvalue() if self._given is None and printed.getvalue() else repr(self._given)
        same(text, raised or "nothing" if kind == "raises" else gave)


def same(said: str, seen: str) -> None:
    """Check that what is seen is what was said, blanks aside; `...` stands for anything.

    Raises:
        AssertionError: it is not.
    """
    parts = (re.escape(re.sub(r"\s", "", part)) for part in said.split("..."))
    if not re.fullmatch(".*".join(parts), re.sub(r"\s", "", seen), re.DOTALL):
        raise AssertionError(f"the page says\n\n{said}\n\nand this is\n\n{seen}")
