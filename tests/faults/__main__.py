"""Kills as many runs as the first argument says at random moments, and prints what came of each."""

import sys
import tempfile
from pathlib import Path

from tests.faults.kills import kill_and_resume

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        outcomes = []
        for one in kill_and_resume(Path(folder), moments=int(sys.argv[1]), seed=0):
            outcomes.append(one)
            sys.stdout.write(f"{one.after:6.2f} s  {one.stage:20s}  {'equal' if one.equal else 'DIFFERS'}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{sum(one.equal for one in outcomes)} of {len(outcomes)} equal\n")
