"""The undamaged files of the battery: a small store, kernels, families, weights, and what else commands read."""

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

from perfmodel import store
from perfmodel.counts import cache as counts_cache
from perfmodel.documents import digest_of
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.predicting.model import fit
from tests.cli.conftest import KERNEL, VARIANTS
from tests.cli.test_count import OPAQUE
from tests.fitting.test_weights_file import measurements

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "data" / "quickstart"
#: Variants of the store's kernels, and of its test kernels, with short documents.
KEPT = {("empty", None), ("stride1", "index"), ("stride1", "copy"), ("transpose", "strided_load")}
KEPT_TESTS = {("convolution", None)}

FAMILY = '''
from perfmodel import Family, Weight


def quantities(case):
    return {"units": float(case.fact("compute_units"))}


FAMILY = Family(
    name="toy",
    citation="nowhere",
    quantities=quantities,
    units={"units": ""},
    sums={"start": ("launches", "work_groups")},
    weights=(Weight("w_load", "s/access", start=1e-9),),
    parts={"loads": "w_load*global_load_32_stride1/units"},
    expression="start + loads",
    additive=True,
)
'''
DECLARED = {
    "square": {"operations": {"float32 mul": 1, "float32 add": 2}, "loads": {"a[i]": 2}, "stores": {"out[i]": 1}}
}
FACTS = """# Facts that a user wrote.
facts:
  clock_hz: {value: 2.6e+9, unit: Hz, source: "data sheet"}
  l1_bytes: {value: 49152, unit: B, source: "lscpu"}
  l2_bytes: {value: 2097152, unit: B, source: "lscpu"}
  l2_line_bytes: {value: 64, unit: B, source: "lscpu"}
  lanes_per_unit: {value: 16, unit: "", source: "lscpu"}
  arithmetic_latency_s: {value: 1.5e-9, unit: s, source: "measured"}
  memory_latency_s: {value: 9.0e-8, unit: s, source: "measured"}
  local_latency_s: {value: 2.0e-9, unit: s, source: "measured"}
"""
PLAN = {"schema": "perfmodel.plan/2", "key": "[]", "parameters": [{"n": 2048}, {"n": 4096}], "seconds": [1e-4, 2e-4]}
#: Features of the kernel of kernel.py, by hand: n loads, additions and stores in n/128 groups of one launch.
FEATURES = {
    "launches": lambda n: 1, "work_groups": lambda n: n // 128, "op_float32_add": lambda n: n,
    "global_load_32_stride1": lambda n: n, "global_store_32_stride1": lambda n: n,
    "global_minloadstore_32_stride1": lambda n: n
}  # fmt: skip


@cache
def pristine() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _store(folder / "store")
        _weights(folder)
        _kernels(folder)
        _cache_entry(folder)
        found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    return found


def _store(folder: Path) -> None:
    folder.mkdir()
    rows = []
    for name, kept in (("measurements", KEPT), ("test", KEPT_TESTS)):
        found = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]
        found = [row for row in found if (row["kernel"], row["variant"].get("form")) in kept]
        for row in found:
            row["samples_s"] = row["samples_s"][:8]
            row["device_samples_s"] = row["device_samples_s"][:8]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
        rows += found
    used = {row["counts_hash"] for row in rows}
    lines = (DATA / "counts.jsonl").read_text().splitlines(keepends=True)
    (folder / "counts.jsonl").write_text("".join(line for line in lines if json.loads(line)["hash"] in used))
    facts = {
        "compute_units": Fact(2, "", "CL_DEVICE_MAX_COMPUTE_UNITS"),
        "subgroup_size": Fact(8, "work-items", "CL_DEVICE_SUB_GROUP_SIZES_INTEL"),
        "max_work_item_sizes": Fact((64, 64, 64), "work-items", "CL_DEVICE_MAX_WORK_ITEM_SIZES"),
        "has_float64": Fact(True, "", "CL_DEVICE_DOUBLE_FP_CONFIG"),
        "memory_bandwidth_bytes_per_s": Fact(1.2e10, "B/s", "STREAM"),
    }
    device = DeviceFacts.from_mapping(rows[0]["device"], rows[0]["platform"], rows[0]["driver"], facts)
    (folder / "device.json").write_text(json.dumps(device.to_json(), indent=2) + "\n")
    (folder / "facts.yaml").write_text(FACTS)
    (folder / "measurements.plan.jsonl").write_text((json.dumps(PLAN) + "\n") * 2)


def _weights(folder: Path) -> None:
    (folder / "family.py").write_text(FAMILY)
    fit(measurements()).save(folder / "weights.json")
    document = json.loads((folder / "weights.json").read_text())
    for name in ("global_store_32_stride1", "global_minloadstore_32_stride1"):
        document["weights"][name] = {"value": 1e-10, "unit": "s/access"}
    document["features"] = sorted(document["weights"])
    (folder / "weights.json").write_text(json.dumps(document, indent=2))
    expression = "w_start*launches + w_add*op_float32_add + w_load*global_load_32_stride1"
    fit(measurements(), f"expr:{expression}").save(folder / "expression.json")
    fit(store.read(folder / "store")).save(folder / "fitted.json")


def _kernels(folder: Path) -> None:
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "variants.py").write_text(VARIANTS)
    (folder / "opaque.py").write_text(OPAQUE)
    (folder / "declared.json").write_text(json.dumps(DECLARED))
    (folder / "facts.yaml").write_text(FACTS)
    (folder / "classes").mkdir()
    shutil.copy(ROOT / "measurement_kernels" / "stride1.py", folder / "classes" / "stride1.py")


def _cache_entry(folder: Path) -> None:
    (folder / "cache").mkdir()
    counts = next(iter(store.read(folder / "store").counts.values()))
    content = counts.to_json()
    entry = {"schema": counts_cache.SCHEMA, "sha256": digest_of(content), "counts": content}
    (folder / "cache" / "entry.json").write_text(json.dumps(entry))
