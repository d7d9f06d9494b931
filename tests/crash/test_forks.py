"""A program that forks while a runtime is open: the child is refused and harms nothing, and the parent goes on."""

from pathlib import Path

import pytest

from tests.snapshots.programs import output

FORKING = """
    import multiprocessing, os, sys, warnings
    import anyio
    import looms
    from looms.snapshots.environment import Environment
    from tests.crash.works import Asked, desk, modules

    warnings.simplefilter("ignore", DeprecationWarning)
    path, loop = sys.argv[1:]
    os.environ["WORKS_LEDGER"] = path + ".ledger"
    said = []

    def refused(what, *errors):
        try:
            what()
        except errors:
            said.append("refused")
        else:
            said.append("worked")

    def in_child(rt, run):
        reader = looms.Reader(path, modules=modules)
        for call in (run.signal(Asked(9, "fold")), rt.start(desk, 0), rt.publish(Asked(9, "fold"))):
            refused(lambda: call.send(None), looms.RuntimeClosed)
        refused(lambda: looms.open(path, modules=modules), looms.StoreInUse)
        refused(lambda: Environment(path), looms.StoreClosed)
        refused(lambda: reader.__aenter__().send(None), looms.StoreClosed)
        os.write(1, f"{' '.join(said)}\\n".encode())

    async def main():
        async with looms.Runtime(path, modules=modules) as rt:
            run = await rt.start(desk, 0, run_id="d")
            await run.signal(Asked(5, "stamp"), Asked(1, "sleep"))
            # As a program forks, and as its libraries do, also from a thread in the midst of commits.
            child = os.fork()
            if child == 0:
                in_child(rt, run)
                os._exit(0)
            process = multiprocessing.get_context("fork").Process(target=in_child, args=(rt, run))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(anyio.to_thread.run_sync, process.start)
                for n in range(20):
                    await run.signal(Asked(n, "fold"))
            await anyio.to_thread.run_sync(process.join)
            await anyio.to_thread.run_sync(os.waitpid, child, 0)
            with anyio.fail_after(30):
                while (await run.inspect()).effects or (await run.inspect()).waits:
                    await rt.next_commit().wait()
            other = [sys.executable, "-m", "tests.crash.asker", path, "other", "2"]
            await anyio.run_process(other)  # who rings at the door is heard
            print(sorted((await run.state()).counts.items()), process.exitcode)
            lasting = os.fork()
            if lasting == 0:
                os.read(0, 1)  # lives on until the program that runs this is over
                os._exit(0)
        async with looms.Runtime(path, modules=modules) as rt:
            print((await rt.run("other 0").inspect()).seq)

    anyio.run(main, backend=loop)
"""


LEAVING = """
    import os, sys, warnings
    import anyio
    import looms
    from tests.crash.works import modules

    warnings.simplefilter("ignore")

    async def main():
        async with looms.Runtime(sys.argv[1], modules=modules):
            door = os.path.join(sys.argv[1], "doorbell")
            while not os.path.exists(door):
                await anyio.sleep(0.001)
            child = os.fork()
            if child == 0:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                sys.exit()
            os.waitpid(child, 0)
            print(os.path.exists(door), flush=True)
            os._exit(0)  # its loop is no more than half there

    anyio.run(main)
"""


def test_a_child_that_leaves_its_parents_block_takes_no_doorbell_along(store: Path) -> None:
    assert output(LEAVING, store) == "True\n"


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_a_child_is_refused_and_its_parent_goes_on(store: Path, loop: str) -> None:
    said = output(FORKING, store, loop).splitlines()
    assert said[:2] == ["refused " * 5 + "refused"] * 2
    assert said[2:] == ["[('Asked', 22), ('Stamped', 1), ('TimedOut', 1)] 0", "2"]
