"""The fixtures that pystella's tests expect and its sdist lacks: small grids in one process (a plug-in of pytest)."""

import pytest


@pytest.fixture
def grid_shape() -> tuple[int, int, int]:
    return 16, 16, 16


@pytest.fixture
def proc_shape() -> tuple[int, int, int]:
    return 1, 1, 1


@pytest.fixture
def timing() -> bool:
    return False
