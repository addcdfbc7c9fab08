from . import plot
from .calibration.recommended import fit, load
from .counts import Count, KernelCounts, count
from .errors import PerfModelError
from .kernels.space import Space
from .measuring.run import measure
from .models import Family, families
from .models.model import Weight
from .opencl import devices
from .predicting.model import FittedModel
from .predicting.prediction import Prediction
from .predicting.ranking import RankedVariant, Ranking, rank
from .predicting.transfer import transferred
from .processes.pool import count_all
from .processes.variants import CountedVariants
from .recipes.archive import best, use_best
from .recipes.generator import recipes_of
from .recipes.recipe import Recipe
from .recipes.search import Transformed, transformed
from .tuning import anchor
from .tuning.tuned import Tuned
from .tuning.tuning import tune
from .versions.tables import assert_not_slower
from .watching.starting import watch

__all__ = [
    "Count", "CountedVariants", "Family", "FittedModel", "KernelCounts", "PerfModelError", "Prediction",
    "RankedVariant", "Ranking", "Recipe", "Space", "Transformed", "Tuned", "Weight", "anchor", "assert_not_slower",
    "best", "count", "count_all", "devices", "families", "fit", "load", "measure", "plot", "rank", "recipes_of",
    "transferred", "transformed", "tune", "use_best", "watch",
]  # fmt: skip
__version__: str
