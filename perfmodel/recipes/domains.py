"""One domain for several loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopy import TranslationUnit


def merge_domains(t_unit: TranslationUnit, loops: str) -> TranslationUnit:
    """Give loops, such as ``i,j``, one common domain. Loopy fetches arrays only inside of one domain."""
    import islpy as isl

    kernel, inames = t_unit.default_entrypoint, set(loops.split(","))
    apart = [inames.isdisjoint(domain.get_var_names(isl.dim_type.set)) for domain in kernel.domains]
    first, *others = (domain for domain, rest in zip(kernel.domains, apart, strict=True) if not rest)
    for domain in others:
        first = isl.BasicSet.intersect(*isl.align_two(first, domain))
    domains = [domain for domain, rest in zip(kernel.domains, apart, strict=True) if rest]
    domains.insert(apart.index(False), first)
    return t_unit.with_kernel(kernel.copy(domains=domains))
