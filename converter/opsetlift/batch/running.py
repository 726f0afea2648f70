"""All models of a folder or a glob, one after the other or over an executor."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from opsetlift.batch.planning import planned
from opsetlift.batch.task import Ending, Result, Task, perform
from opsetlift.batch.workers import Workers
from opsetlift.pipeline.job import Options
from opsetlift.support.arguments import whole_number
from opsetlift.support.processes import cores


def convert_models(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    executor: Executor | None = None,
    jobs: int | None = None,
    overwrite: bool = False,
    skip_existing: bool = False,
    certificates: str | os.PathLike[str] | None = None,
    on_result: Callable[[Result], object] | None = None,
    to: int | dict[str, int] | None = None,
    ir: int | None = None,
    target: str | None = None,
    normalize: bool | Sequence[str] = False,
    cache: bool = True,
    **options: Any,
) -> list[Result]:
    """Convert all models of a folder or a glob, each from its file to a file of the same place in another folder.

    One model that cannot be converted stops no other: what became of each is in its result.

    Args:
        source: A folder, whose .onnx files at any depth are meant, a glob such as "models/**/*.pb", or a single model.
        folder: Where the outputs go.
        executor: Any `concurrent.futures.Executor`, as that of a `dask.distributed` client
            (`client.get_executor()`), whose workers see the same files. By default processes on this machine, of which
            one that ends is replaced.
        jobs: How many processes, where `executor` is not given; by default one for each processor.
        overwrite: Replace existing outputs.
        skip_existing: Leave out models whose output exists.
        certificates: A folder for the certificates, in the same tree: a/b.onnx.certificate.json.
        on_result: Called with each result when it is there.
        to: As in `opsetlift.convert`, like all arguments that are not described here.
        ir: The IR version.
        target: The runtime that the results are for.
        normalize: Run passes on the results, as in `opsetlift.convert`; without a destination they alone are run.
        cache: Use and keep verdicts of earlier proofs.
        options: Other arguments of `opsetlift.convert`: `dtypes`, `exact`, `prove`, `seed` and so on. `passes` is
            another name of `normalize`.

    Returns:
        The results, in the order of the sources.

    Raises:
        NoModels: There are none, or `folder` is no folder.
        TypeError, UnreachableTarget, UnknownTarget: What is asked for does not exist.
    """
    given = {"to": to, "ir": ir, "target": target, "dtypes": None, "cache": cache, **options}
    if normalize is not False:
        given["passes"] = ["default"] if normalize is True else list(normalize)
    asked = Options.of(**given)
    if asked.passes is None:
        asked.need_a_destination()
    workers_wanted = cores() if jobs is None else whole_number(jobs, "the number of jobs", least=1)
    tasks, results = planned(
        Path(source),
        Path(folder),
        given,
        overwrite=overwrite,
        skip_existing=skip_existing,
        certificates=Path(certificates) if certificates is not None else None,
    )
    report = on_result or (lambda result: None)
    for one in results:
        report(one)
    if executor is not None:
        results += _run(tasks, executor, report)
    elif tasks:
        with Workers(min(len(tasks), workers_wanted)) as workers:
            results += _run(tasks, workers, report)
    return sorted(results, key=lambda result: result.source)


def _run(tasks: Iterable[Task], executor: Executor, report: Callable[[Result], object]) -> Iterator[Result]:
    """Run tasks on an executor."""
    futures = {executor.submit(perform, task): task for task in tasks}
    try:
        for future in _as_completed(futures):
            result = _result(future, futures[future])
            report(result)
            yield result
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _as_completed(futures: Iterable[Future[Result]]) -> Iterator[Future[Result]]:
    """`concurrent.futures.as_completed` for futures of any executor: those of some are not its own."""
    waiting = list(futures)
    done: SimpleQueue[Future[Result]] = SimpleQueue()
    for future in waiting:
        future.add_done_callback(done.put)
    for _ in waiting:
        yield done.get()


def _result(future: Future[Result], task: Task) -> Result:
    try:
        return future.result()
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return Result(task.source, task.target, Ending.CRASHED, reason, reason)
