"""Mode `batch`: a thread that has the disk take what was published, every 200 ms.

A thread of its own: the one that ships may wait for a database that hangs, and the promise is one of time.
"""

from __future__ import annotations

import logging
import threading

from .writer import JournalWriter

__all__ = ["start_syncing"]

_logger = logging.getLogger(__name__)
_EVERY_S = 0.2


def start_syncing(writer: JournalWriter) -> None:
    """Starts the thread; it ends with the writer. At interpreter shutdown there is none: closing syncs as well."""
    thread = threading.Thread(target=_run, args=(writer,), name="ragledger-sync", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return


def _run(writer: JournalWriter) -> None:
    failing = False
    while not writer.closed.wait(_EVERY_S):
        try:
            writer.sync()
        except OSError as exc:
            if not failing:
                _logger.error(  # noqa: TRY400  the traceback would name files of the host
                    "ragledger: the journal could not be synced to disk (%s); a power loss may cost more than promised",
                    exc.strerror,
                )
            failing = True
        else:
            failing = False
