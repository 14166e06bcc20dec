"""The arithmetic of measuring, one measure to a file: plain numbers in, plain numbers out.

No driver, no framework, no numpy. A measure over no data is None, never 0 (promise P8).
"""

from __future__ import annotations
