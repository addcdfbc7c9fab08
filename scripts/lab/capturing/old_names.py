"""What packages of 2020 to 2022 expect of NumPy, pymbolic and Loopy, and what these no longer have.

A plug-in of pytest: ``pytest -p scripts.lab.capturing.old_names``. Only the environment of others' packages uses it.
"""

from operator import attrgetter
from typing import Any

import loopy as lp
import loopy.check
import loopy.tools
import numpy as np
import pymbolic.mapper


def install() -> None:
    vars(np).setdefault("product", np.prod)
    if not hasattr(loopy.tools, "is_integer"):
        loopy.tools.is_integer = lambda value: isinstance(value, (int, np.integer))
    for name in ("args", "arg_dict", "instructions", "temporary_variables", "name"):
        if not hasattr(lp.TranslationUnit, name):  # when kernels were not yet parts of units
            setattr(lp.TranslationUnit, name, property(attrgetter(f"default_entrypoint.{name}")))
    # What an instruction outside of the groups' and lanes' inames does, each lane does.
    loopy.check.check_for_unused_hw_axes_in_insns = lambda kernel, callables: None
    copy = lp.TranslationUnit.copy

    def copy_unit(self: Any, **named: Any) -> Any:
        if "args" in named:
            return self.with_kernel(self.default_entrypoint.copy(**named))
        return copy(self, **named)

    lp.TranslationUnit.copy = copy_unit
    execute = lp.TranslationUnit.__call__

    def execute_unit(self: Any, *arguments: Any, **named: Any) -> Any:
        """The queue was an argument by name, too."""
        return execute(self, *([named.pop("queue")] if "queue" in named else []), *arguments, **named)

    lp.TranslationUnit.__call__ = execute_unit
    mapper = pymbolic.mapper.CachedMapper
    cached = mapper.__call__

    def call(self: Any, expr: Any, *arguments: Any, **named: Any) -> Any:
        """Mappers were called with lists and dicts of expressions before they cached by value."""
        if isinstance(expr, (list, dict)):
            return self.map_foreign(expr, *arguments, **named)
        return cached(self, expr, *arguments, **named)

    mapper.__call__ = mapper.rec = call


install()
