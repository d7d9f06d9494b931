"""The agent answers each message once, whatever happens to its process, and does nothing dangerous unasked."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

import looms
from looms.modules import approval
from looms.testing import RuntimeOnTestClock, TestClock, runtime
from tests.examples.folders import EXAMPLES, Load, RunExample, shown_in_readme

EXAMPLE = "agent"
PATIENCE = 60  # seconds for another process, and for what it is about to do

Serve = Callable[..., Any]


@pytest.fixture
def anyio_backend() -> str:
    """The client knows nothing else."""
    return "asyncio"


@pytest.fixture
def serve(load: Load, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Serve a model, and have the client ask it; gives what it was asked."""
    scripted = load("scripted")

    @contextmanager
    def serving(deltas: Callable[[int], None] = lambda asked: None) -> Iterator[list[Any]]:
        asked: list[Any] = []

        class Noted(scripted.Scripted):  # type: ignore[misc, name-defined]
            def deltas(self, messages: list[Any]) -> Iterator[Any]:
                asked.append(messages)
                number = len(asked)
                for n, delta in enumerate(super().deltas(messages)):
                    yield delta
                    if n == 0:
                        deltas(number)

        with scripted.serving(Noted) as url:
            monkeypatch.setenv("OPENAI_BASE_URL", url)
            monkeypatch.setenv("OPENAI_API_KEY", "none")
            yield asked

    return serving


class Desk:
    """A conversation with the agent, on a clock that the test moves."""

    def __init__(self, load: Load, rt: RuntimeOnTestClock) -> None:
        self.agent, self.talk = load("agent"), load("talk")
        self.rt = rt
        self.store = rt.store(self.talk.Conversation, "c", self.talk.Conversation())
        self.run = rt.run("agent")

    async def begin(self) -> None:
        await self.rt.start(self.agent.agent, self.agent.Life("c"), run_id="agent", exists="return")

    async def hear(self, id: str, line: str) -> str:
        await self.store.update(self.talk.says(id, line))
        answer: str = await self.store.when(self.talk.answer_to(id), timeout=PATIENCE)
        return answer


@pytest.mark.anyio
async def test_it_answers_each_message_once_and_begins_anew_every_fifty_answers(
    load: Load, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = load("agent")
    assert agent.TURNS == 50
    monkeypatch.setattr(agent, "TURNS", 5)
    monkeypatch.setattr(agent, "REMEMBERED", 4)
    monkeypatch.setattr(load("talk"), "KEPT", 20)
    with serve() as asked:
        async with runtime(load("agent").modules, tmp_path / "a.looms") as rt:
            desk = Desk(load, rt)
            await desk.begin()
            for n in range(12):
                assert f"line {n}." in await desk.hear(f"m{n}", f"line {n}.")
                await desk.store.update(desk.talk.says(f"m{n}", "said twice"))
            journal = await desk.run.state()
            assert journal.generation == 3
            assert len(journal.entries) <= 3 * 3 + 1
        assert len(asked) == 12
        assert max(map(len, asked)) <= 2 + desk.agent.REMEMBERED + 2 * desk.agent.TURNS
        assert asked[5][1]["content"] == "line 3.", "the second generation remembers the end of the first"
        async with runtime(load("agent").modules, tmp_path / "a.looms") as rt:
            again = Desk(load, rt)
            assert "still there" in await again.hear("m12", "still there?")
            messages = (await again.store.get()).state.messages
            assert len({message.id for message in messages}) == len(messages) == again.talk.KEPT
            assert (await rt.verify("agent")).ok


@pytest.mark.anyio
async def test_a_refund_waits_for_a_person_and_is_paid_once(load: Load, serve: Serve) -> None:
    with serve() as asked:
        async with runtime(load("agent").modules) as rt:
            desk = Desk(load, rt)
            await desk.begin()
            assert await desk.hear("m1", "where is order 7?") == "Order 7 is delivered on Monday."
            await desk.store.update(desk.talk.says("m2", "please refund order 7"))
            question = await pending(rt)
            assert question.question == 'refund {"order": 7, "cents": 4200}?'
            assert [tool["function"]["name"] for tool in load("tools").described()] == ["look_up_order", "refund"]
            assert len(asked) == 3
            await desk.run.signal(approval.decide(question.id, approved=True, by="ann"))
            answer = await desk.store.when(desk.talk.answer_to("m2"), timeout=PATIENCE)
            assert answer == "Done: 42.00 for order 7 are on their way back to you."
            refunds = [e async for e in desk.run.events() if isinstance(e.event, load("tools").Refunded)]
            assert len(refunds) == 1

            await desk.store.update(desk.talk.says("m3", "refund order 8"))
            question = await pending(rt)
            await desk.run.signal(approval.decide(question.id, approved=False, by="ann", note="no"))
            answer = await desk.store.when(desk.talk.answer_to("m3"), timeout=PATIENCE)
            assert answer == "I am sorry, that is not possible: ann did not allow that: no."
            await desk.store.update(desk.talk.says("m4", "refund order 8"))
            await pending(rt)
            await rt.clock.advance(load("agent").PATIENCE)
            answer = await desk.store.when(desk.talk.answer_to("m4"), timeout=PATIENCE)
            assert answer == "I am sorry, that is not possible: nobody has allowed that."


async def pending(rt: RuntimeOnTestClock) -> approval.Request:
    """What the agent asks a person."""
    async for _ in rt.run("agent").events(follow=True):
        if found := (await rt.run("agent").project(approval.pending)).requests:
            return found[0]
    raise AssertionError


@pytest.mark.anyio
async def test_words_are_told_as_they_come_and_are_not_in_the_log(load: Load, serve: Serve) -> None:
    held = threading.Event()
    with serve(lambda _: held.wait(PATIENCE)):
        async with runtime(load("agent").modules) as rt:
            desk, streams = Desk(load, rt), load("streams")
            await desk.begin()
            with streams.streams.listening("c") as words:
                await desk.store.update(desk.talk.says("m1", "a b c d e f g h"))
                assert await words.receive() is streams.AGAIN
                assert await words.receive() == "Hello! "
                assert await desk.store.select(desk.talk.answer_to("m1")) is None, "the answer is not there yet"
                held.set()
                whole = "Hello! "
                while not whole.endswith("order?"):
                    whole += await words.receive()
            assert await desk.store.when(desk.talk.answer_to("m1"), timeout=PATIENCE) == whole
            records = [record async for record in desk.run.events()]
            said = [record.type for record in records if whole in str(record.payload)]
            assert said == ["looms.returned", "looms.met"], "as the model's answer, and as what the conversation holds"
            assert sum(len(msgspec.msgpack.encode(record.payload)) for record in records) < 1_000


@pytest.mark.anyio
async def test_a_model_that_is_out_of_order_is_asked_again_and_then_excused(load: Load, serve: Serve) -> None:
    def breaks(number: int) -> None:
        raise OSError("broken")

    with serve(breaks) as asked:
        async with runtime(load("agent").modules) as rt:
            desk = Desk(load, rt)
            await desk.begin()
            await desk.store.update(desk.talk.says("m1", "hello"))
            while await desk.store.select(desk.talk.answer_to("m1")) is None:
                await rt.clock.advance(60)
                await anyio.sleep(0.01)  # the model is in real time
            assert "I cannot answer at the moment" in (await desk.store.select(desk.talk.answer_to("m1")) or "")
        assert len(asked) == load("agent").RETRY.attempts


HOST = """
    import sys, anyio, looms
    from agent import Life, agent, modules
    from talk import Conversation, answer_to, says

    async def main():
        async with looms.Runtime(sys.argv[1], modules=modules) as runtime:
            await runtime.start(agent, Life("c"), run_id="agent", exists="return")
            conversation = runtime.store(Conversation, "c", Conversation())
            await conversation.update(says("m1", "hello"))
            print(await conversation.when(answer_to("m1")), flush=True)

    anyio.run(main)
"""


def test_killed_in_the_middle_of_a_model_call_it_goes_on(load: Load, serve: Serve, tmp_path: Path) -> None:
    store, in_the_middle = tmp_path / "a.looms", threading.Event()

    def first_hangs(number: int) -> None:
        if number == 1:
            in_the_middle.set()
            gone.wait(PATIENCE)

    gone = threading.Event()
    with serve(first_hangs) as asked, ExitStack() as stack:
        stack.callback(gone.set)
        first = stack.enter_context(hosting(store))
        assert in_the_middle.wait(PATIENCE)
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait(PATIENCE) == -signal.SIGKILL
        second = stack.enter_context(hosting(store))
        out, _ = second.communicate(timeout=PATIENCE)
        assert out == "Hello! You said: hello How can I help with an order?\n"
        assert len(asked) == 2
    anyio.run(check, load, store)


async def check(load: Load, store: Path) -> None:
    async with runtime(load("agent").modules, store, TestClock()) as rt:
        desk = Desk(load, rt)
        messages = (await desk.store.get()).state.messages
        assert [(message.id, message.answered) for message in messages] == [("m1", True), ("re: m1", False)]
        assert (await desk.run.inspect()).status == "waiting"
        assert (await rt.verify("agent")).ok
    assert looms.check(store).ok


@contextmanager
def hosting(store: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that serves the agent, says hello, and prints the answer."""
    program = "\n".join(line.removeprefix("    ") for line in HOST.splitlines())
    command = [sys.executable, "-c", program, str(store)]
    with subprocess.Popen(command, cwd=EXAMPLES / EXAMPLE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_what_the_readme_shows_is_printed(run_example: RunExample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ran = run_example()
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout in shown_in_readme(EXAMPLE)


def test_a_chat_is_kept_and_goes_on(run_example: RunExample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for _ in range(2):
        ran = run_example("--chat", "--store", tmp_path / "talk.looms")
        assert ran.returncode == 0, ran.stderr
        assert "--app agent:modules show agent" in ran.stdout
