"""What `import ragledger` takes, beside the three libraries that it cannot do without; fresh processes, the fastest of each.

python benchmarks/imports.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import subprocess
import sys

WHAT = {
    "msgspec, opentelemetry.trace, uuid-utils": "import msgspec, opentelemetry.trace, uuid_utils.compat",
    "ragledger": "import ragledger",
}
TIMED = "import time; start = time.perf_counter()\n{}\nprint((time.perf_counter() - start) * 1e3)"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    best = dict.fromkeys(WHAT, float("inf"))
    for _ in range(options.rounds):
        for name, code in WHAT.items():
            command = [sys.executable, "-c", TIMED.format(code)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            best[name] = min(best[name], float(done.stdout))
    floor, *_ = best.values()
    for name, milliseconds in best.items():
        print(f"{name:42}{milliseconds:8.1f} ms{milliseconds / floor:8.2f}")


if __name__ == "__main__":
    main()
