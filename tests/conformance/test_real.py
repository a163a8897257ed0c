"""Public tools compile, import, type-check, and judge calls as their schemas do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conformance import real, report
from tests.conformance.product import Product, Workshop
from tests.public_data import PublicData

_IMPORT_ALL = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        importlib.import_module(module.name)
"""


def test_public_tools(test_data: PublicData, workshop: Workshop, tmp_path: Path) -> None:
    """In one test, since tests may run in several processes and each would build anew."""
    built = real.build(test_data, workshop)
    products = [product for product, _ in built]
    with subprocess.Popen(_mypy(products, tmp_path), cwd=products[0].folder.parent, stdout=subprocess.PIPE) as mypy:
        results = real.measure(built)
        found, _ = mypy.communicate()
    assert mypy.returncode == 0, found.decode()
    assert not results.faults
    sources = results.sources.values()
    assert not [doubt for source in sources for doubt in source.doubts]
    # They were really there, and nearly every reference call fits the schema of its tool.
    assert sum(len(source.specs) for source in sources) >= 653
    assert sum(source.references.accepted for source in sources) >= 769
    assert sum(source.references.refused for source in sources) <= 5
    assert not report.differences(report.real_section(results))
    _import_without_a_warning(products)


def _mypy(products: list[Product], cache: Path) -> list[str]:
    packages = [argument for product in products for argument in ("--package", product.folder.name)]
    return [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", *packages]


def _import_without_a_warning(products: list[Product]) -> None:
    names = [product.folder.name for product in products]
    command = [sys.executable, "-W", "error", "-c", _IMPORT_ALL, str(products[0].folder.parent), *names]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
