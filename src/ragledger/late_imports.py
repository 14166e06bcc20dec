"""Imports that happen late and beside the application's own threads.

A child that is forked while another thread imports a module waits forever when it imports the same module: the lock
of the module belongs to a thread that the child does not have. So a fork waits for our own late imports.
"""

from __future__ import annotations

import os
import threading

__all__ = ["late_imports"]

late_imports = threading.RLock()
"""Held while a background thread imports: `with late_imports: from .postgres import ...`."""

os.register_at_fork(
    before=late_imports.acquire,
    after_in_parent=late_imports.release,
    after_in_child=late_imports.release,
)
