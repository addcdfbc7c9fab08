"""Fitting and measuring together: calibrate a device, fit and judge what was measured, check the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.calibration import calibrate, installation, kernel_choice, lacking, recommended, recounting

__getattr__ = loader(__name__)
