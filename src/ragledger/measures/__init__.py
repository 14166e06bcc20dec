"""The arithmetic of measuring, one measure to a file: plain numbers in, plain numbers out.

No driver and no framework; what `ragledger measure` and `verify` use needs no numpy either. A measure over no data is None, never 0 (promise P8).
"""

from __future__ import annotations
