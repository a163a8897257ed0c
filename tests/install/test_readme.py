"""The README's quick start, word by word, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.conftest import ROOT


def test_the_quick_start(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("## Quick start", 1)[1].split("\n## ", 1)[0]
    script = "set -eu\n" + "\n".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL))
    (shown,) = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env={**clean, "TOOLGEN": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(shown)
