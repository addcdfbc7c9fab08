"""The C types that occur in generated OpenCL C, and the conversions C applies to them."""

import re
from dataclasses import dataclass

SCALARS: dict[str, str] = {
    "char": "int8", "signed char": "int8", "uchar": "uint8", "unsigned char": "uint8", "bool": "int8",
    "short": "int16", "ushort": "uint16", "unsigned short": "uint16", "int": "int32", "uint": "uint32",
    "unsigned int": "uint32", "unsigned": "uint32", "long": "int64", "ulong": "uint64", "unsigned long": "uint64",
    "size_t": "uint64", "half": "float16", "float": "float32", "double": "float64", "cfloat_t": "complex64",
    "cdouble_t": "complex128", "void": "void"
}  # fmt: skip
REAL_OF_COMPLEX = {"complex64": "float32", "complex128": "float64"}
VECTOR = re.compile(r"^(char|uchar|short|ushort|int|uint|long|ulong|float|double)(2|3|4|8|16)$")


@dataclass(frozen=True)
class CType:
    """A scalar type by its NumPy name, with the number of lanes of a vector type (1 for a scalar)."""

    dtype: str
    lanes: int = 1

    @property
    def places(self) -> int:
        """Lanes that the type occupies in memory: four where it has three."""
        return {3: 4}.get(self.lanes, self.lanes)

    @property
    def bits(self) -> int:
        digits = re.search(r"\d+$", self.dtype)
        return int(digits.group()) * self.places if digits else 0

    @property
    def integral(self) -> bool:
        return "int" in self.dtype

    @property
    def complex(self) -> bool:
        return self.dtype.startswith("complex")


INT = CType("int32")
LONG = CType("int64")


def c_type(name: str) -> CType:
    vector = VECTOR.match(name)
    if vector:
        return CType(SCALARS[vector.group(1)], int(vector.group(2)))
    return CType(SCALARS[name])


def vector_names() -> tuple[str, ...]:
    scalars = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double")
    vectors = tuple(f"{scalar}{lanes}" for scalar in scalars for lanes in (2, 3, 4, 8, 16))
    return ("uchar", "ushort", "uint", "ulong", "half", "cfloat_t", "cdouble_t", "size_t", *vectors)


def _rank(dtype: str) -> int:
    order = ("int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128")
    return order.index(dtype) if dtype in order else 0


def promoted(operand: CType) -> CType:
    """Integer promotion: what is narrower than int is computed as int."""
    if operand.lanes == 1 and operand.dtype in ("int8", "uint8", "int16", "uint16"):
        return INT
    return operand


def common(*operands: CType) -> CType:
    """The type in which C computes an operation on these operands (usual arithmetic conversions)."""
    lanes = max(operand.lanes for operand in operands)
    vectors = [operand for operand in operands if operand.lanes == lanes > 1]
    if vectors:
        return CType(max((vector.dtype for vector in vectors), key=_rank), lanes)
    return CType(max((promoted(operand).dtype for operand in operands), key=_rank))
