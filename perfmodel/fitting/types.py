"""Types that the modules of this package share."""

from typing import Annotated, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = npt.NDArray[np.int64]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
STRICT = ConfigDict(frozen=True, extra="forbid")
