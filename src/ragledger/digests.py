"""blake2b, which is what everything of ours is hashed by.

From the module that `hashlib` has it from: `hashlib` brings OpenSSL in, an eighth of what `import ragledger` takes.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # an interpreter that keeps it elsewhere
    from hashlib import blake2b

__all__ = ["blake2b"]
