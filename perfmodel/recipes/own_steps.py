"""Transformations of recipes that Loopy does not have. Saved kernel files have copies of these functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopy import TranslationUnit


def extract_invariants(t_unit: TranslationUnit, loops: str) -> TranslationUnit:
    """Make substitution rules ``without_LOOPS`` of calls, sums and products that are equal in all iterations of a loop.

    Such factors leave sums: for ``i``, ``sum([j, x], a[i,j]*b[x,j]*c[x])`` becomes ``sum(j, a[i,j]*without_i(j))``,
    with the rule ``sum(x, b[x,j]*c[x])``. Of several loops, as in ``i,j``, one after the other is taken, and rules of
    those before are changed too.
    """
    from typing import Any

    import loopy as lp
    from loopy.library.reduction import SumReductionOperation
    from loopy.symbolic import CallbackMapper, IdentityMapper, Reduction, get_dependencies, get_reduction_inames
    from pymbolic.primitives import Call, If, Product, Variable, flattened_product

    kernel = lp.expand_subst(t_unit).default_entrypoint
    names, temporaries = kernel.get_var_name_generator(), kernel.temporary_variables
    names.add_names(kernel.id_to_insn, conflicting_ok=True)
    plain = (insn for insn in kernel.instructions if isinstance(insn, lp.Assignment) and not insn.predicates)
    statements = {insn.id: insn for insn in plain}  # also those to which rules belong
    values = {name: insn.expression for name, insn in statements.items()}
    around = {name: insn.within_inames for name, insn in statements.items()}  # of rules: their arguments

    def loops_of(*values: Any) -> Any:
        """Return the loops on which values depend; all if a statement in the same loops changes what they read."""
        words = get_dependencies(values)
        writers = [insn for insn in kernel.instructions if not words.isdisjoint(insn.assignee_var_names())]
        written = [name for insn in writers for name in insn.assignee_var_names()]
        outside = frozenset().union(*(insn.within_inames for insn in writers))
        once = len(set(written)) == len(written) and outside <= statement.within_inames
        same = once and all(name in temporaries and not temporaries[name].shape for name in written)
        own = get_reduction_inames(values)
        rows = kernel.get_inames_domain(own).get_constraints() if own else ()
        bounds = set().union(*(used for row in rows if own & (used := {*row.get_coefficients_by_name()}))) - own
        same = same and bounds.isdisjoint(kernel.all_inames() | temporaries.keys())
        return (words | outside) & kernel.all_inames() if same else kernel.all_inames()

    def rule(value: Any) -> Any:
        arguments, name = tuple(sorted(loops_of(value))), names(f"without_{loops.replace(',', '_')}")
        statements[name], values[name], around[name] = statement, value, arguments
        return Variable(name)(*map(Variable, arguments)) if arguments else Variable(name)

    def works(value: Any) -> bool:
        return isinstance(value, Reduction) or (isinstance(value, Call) and value.function.name not in values)

    def changed(value: Any, mapper: Any) -> Any:
        if works(value) and loop not in loops_of(value):
            return rule(value)
        if isinstance(value, Reduction) and isinstance(value.operation, SumReductionOperation):
            product = flattened_product([value.expr])
            factors = product.children if isinstance(product, Product) else (product,)
            rest = tuple(factor for factor in factors if loop in loops_of(factor))
            same = tuple(factor for factor in factors if loop not in loops_of(factor))
            outer = tuple(iname for iname in value.inames if iname in loops_of(*rest))
            inner = tuple(iname for iname in value.inames if iname not in outer)
            part = Reduction(value.operation, inner, flattened_product(same)) if inner else flattened_product(same)
            arrays = get_dependencies(same) & (kernel.arg_dict.keys() | temporaries.keys())
            worth = inner or len(arrays) > 1 or any(map(works, same))
            if same and worth and loop not in loops_of(part):
                product = Product((*rest, rule(part)))
                return Reduction(value.operation, outer, product) if outer else product
        return value if isinstance(value, If) else mapper.fallback_mapper(value)  # a value may exist in one case only

    class Changed(CallbackMapper):  # type: ignore[misc]  # Loopy's mapper has no types
        map_min = map_max = CallbackMapper.map_constant

    for loop in loops.split(","):
        for name in [name for name, inside in around.items() if loop in inside]:
            statement = statements[name]
            values[name] = Changed(changed, IdentityMapper())(values[name])
    instructions = [
        insn.copy(expression=values[insn.id]) if insn.id in values else insn for insn in kernel.instructions
    ]
    rules = {name: lp.SubstitutionRule(name, around[name], values[name])
             for name in values if name not in kernel.id_to_insn}  # fmt: skip
    return t_unit.with_kernel(kernel.copy(instructions=instructions, substitutions=rules))


def extract_parts(t_unit: TranslationUnit, loops: list[str]) -> TranslationUnit:
    """Make substitution rules ``part`` of reductions over some of their loops, of which `loops` combine the results.

    For ``["i_outer"]``, ``sum([i_outer, i_inner], a[16*i_outer + i_inner])`` becomes ``sum(i_outer, part(i_outer))``,
    with the rule ``sum(i_inner, a[16*i_outer + i_inner])``. Reductions inside of each other count as one.
    """
    from typing import Any

    import loopy as lp
    from loopy.library.reduction import ScalarReductionOperation
    from loopy.symbolic import Reduction, ReductionCallbackMapper, get_dependencies
    from pymbolic.primitives import Variable

    kernel = t_unit.default_entrypoint
    names, rules = kernel.get_var_name_generator(), dict(kernel.substitutions)

    def changed(value: Any, mapped: Any, **options: Any) -> Any:
        inames, term = value.inames, value.expr
        while isinstance(term, Reduction) and term.operation == value.operation:
            inames, term = inames + term.inames, term.expr
        outer = tuple(iname for iname in inames if iname in loops)
        inner = tuple(iname for iname in inames if iname not in loops)
        if not outer or not inner or not isinstance(value.operation, ScalarReductionOperation):
            return value
        part, name = Reduction(value.operation, inner, term), names("part")
        arguments = tuple(sorted(get_dependencies(part) & kernel.all_inames() - {*inner}))
        rules[name] = lp.SubstitutionRule(name, arguments, part)
        return Reduction(value.operation, outer, Variable(name)(*map(Variable, arguments)))

    mapper = ReductionCallbackMapper(changed)
    statements = [
        statement.copy(expression=mapper(statement.expression))
        if isinstance(statement, lp.Assignment) and not statement.predicates else statement
        for statement in kernel.instructions
    ]  # fmt: skip
    return t_unit.with_kernel(kernel.copy(instructions=statements, substitutions=rules))


def merge_domains(t_unit: TranslationUnit, loops: str) -> TranslationUnit:
    """Give loops, such as ``i,j``, one common domain. Loopy fetches arrays only inside of one domain."""
    from loopy.symbolic import dim_type

    kernel, inames = t_unit.default_entrypoint, set(loops.split(","))
    unmerged = [inames.isdisjoint(domain.get_var_names(dim_type.set)) for domain in kernel.domains]
    first, *others = (domain for domain, other in zip(kernel.domains, unmerged, strict=True) if not other)
    for domain in others:
        first = first.align_params(domain.space)
        first = first.flat_product(domain.align_params(first.space))
    domains = [domain for domain, other in zip(kernel.domains, unmerged, strict=True) if other]
    domains.insert(unmerged.index(False), first)
    return t_unit.with_kernel(kernel.copy(domains=domains))
