"""What to try if a kind of work takes the most time: sentences that several families share."""

FEWER_BYTES = (
    "Move less data: keep what several work-items read in local memory, read neighbouring cells by neighbouring lanes, "
    "use a smaller type, or do two kernels' work in one."
)
SHORTER_CHAINS = (
    "Break the chain: sum into several independent variables, unroll the loop, or let a work-item compute several "
    "results."
)
FEWER_INSTRUCTIONS = (
    "Issue fewer instructions: let neighbouring lanes touch neighbouring cells so that accesses become vectors, "
    "unroll short loops, and move what does not change out of loops."
)
LESS_OVERHEAD = "Make each launch and group do more: larger work-groups, more work for each work-item, fewer barriers."
FEWER_FUNCTIONS = "Compute fewer functions: reuse their results, or replace divisions and roots by products."
LESS_LOCAL_MEMORY = (
    "Access local memory less: keep values in private variables, and pad rows so that lanes use different banks."
)
FEWER_SECTORS = (
    "Touch fewer sectors: let neighbouring lanes access neighbouring cells and different banks of local memory, and "
    "keep values in private variables."
)
SMALLER_TILES = "Fit the first-level cache: work in smaller tiles, and avoid rows whose length is a power of two."
# for kernels bound by computing, by memory, or by too little parallelism
OF_COMPUTING = (FEWER_INSTRUCTIONS, FEWER_FUNCTIONS, SHORTER_CHAINS, LESS_LOCAL_MEMORY)
OF_MEMORY, OF_WAITING = (FEWER_BYTES, FEWER_SECTORS, SMALLER_TILES), (SHORTER_CHAINS, LESS_OVERHEAD)
