"""One stage on eight neighbouring windows at once, in vector registers.

LLVM does not vectorise a loop over windows by itself: with so many arrays it cannot prove that they do not
overlap. Here the vector code is written out. No operation is reordered, so every lane computes exactly what
`vjcascade.kernels.scan.scalar_stage` computes; the layout of the model is described there.

In each loop step one node meets all lanes. In a tree, each lane holds the place of the node that it has come to,
and only lanes that are at the node of this step move on or vote.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from llvmlite import ir
from numba import config as numba_config, types
from numba.core import cgutils
from numba.extending import intrinsic

WIDTH = 8
LANES = 1 if numba_config.DISABLE_JIT else WIDTH  # type: ignore[attr-defined]
"""Windows in a block; one where numba is switched off, since vector code needs the compiler."""

Builder: TypeAlias = ir.IRBuilder
Value: TypeAlias = ir.Value
Pointers: TypeAlias = dict[str, ir.Value]

INT, FLOAT, DOUBLE, INDEX = ir.IntType(32), ir.FloatType(), ir.DoubleType(), ir.IntType(64)
INTS, FLOATS, DOUBLES = (ir.VectorType(element, WIDTH) for element in (INT, FLOAT, DOUBLE))
COLUMNS = {"offsets": 12, "numbers": 6, "links": 4}


def _item(builder: Builder, pointers: Pointers, array: str, node: Value, column: int) -> Value:
    """Load one item of a node."""
    row = builder.mul(node, ir.Constant(INDEX, COLUMNS[array]))
    return builder.load(builder.gep(pointers[array], [builder.add(row, ir.Constant(INDEX, column))]))


def _eight(builder: Builder, pointer: Value, index: Value, kind: ir.VectorType) -> Value:
    """Load eight neighbouring items."""
    return builder.load(builder.bitcast(builder.gep(pointer, [index]), kind.as_pointer()), align=4)


def _spread(builder: Builder, value: Value) -> Value:
    """Copy a scalar to all lanes."""
    empty = ir.Constant(ir.VectorType(value.type, WIDTH), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(INT, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(INTS, [0] * WIDTH))


def _variable(builder: Builder, value: Value) -> Value:
    """Return a variable that starts with `value`; LLVM keeps it in a register."""
    return cgutils.alloca_once_value(builder, value)  # type: ignore[no-untyped-call]


def _weighted_sum(builder: Builder, pointers: Pointers, node: Value, rect: int) -> Value:
    """Return the float32 product of a rectangle's weight and its sum."""
    corners = []
    for corner in range(4 * rect, 4 * rect + 4):
        offset = builder.zext(_item(builder, pointers, "offsets", node, corner), INDEX)
        corners.append(_eight(builder, pointers["window"], offset, INTS))
    total = builder.add(builder.sub(builder.sub(corners[0], corners[1]), corners[2]), corners[3])
    weight = _spread(builder, _item(builder, pointers, "numbers", node, rect))
    return builder.fmul(weight, builder.sitofp(total, FLOATS))


def _goes_left(builder: Builder, pointers: Pointers, node: Value, scale: Value) -> Value:
    """Return in which lanes the normalised feature value is below the threshold."""
    two_rects = [_weighted_sum(builder, pointers, node, rect) for rect in (0, 1)]
    value = _variable(builder, builder.fadd(*two_rects))
    weight = _item(builder, pointers, "numbers", node, 2)
    with builder.if_then(builder.fcmp_unordered("!=", weight, ir.Constant(FLOAT, 0.0))):
        third = _weighted_sum(builder, pointers, node, 2)
        builder.store(builder.fadd(builder.load(value), third), value)
    threshold = _spread(builder, _item(builder, pointers, "numbers", node, 3))
    return builder.fcmp_ordered("<", builder.fmul(builder.load(value), scale), threshold)


def _of_side(
    builder: Builder, pointers: Pointers, left: Value, array: str, column: int, node: Value
) -> Value:
    """Return in each lane the item of the side taken: in `column` the left one's, then the right one's."""
    sides = [_spread(builder, _item(builder, pointers, array, node, column + side)) for side in (0, 1)]
    return builder.select(left, *sides)


def _emit_stump(builder: Builder, pointers: Pointers, node: Value, state: Pointers) -> None:
    """Add the votes of a stump."""
    left = _goes_left(builder, pointers, node, state["scale"])
    _add_votes(builder, _of_side(builder, pointers, left, "numbers", 4, node), state)


def _emit_tree_node(builder: Builder, pointers: Pointers, node: Value, state: Pointers) -> None:
    """Move the lanes that are at this node on, or note their votes; add these after a tree's last node."""
    place = _item(builder, pointers, "links", node, 0)
    at, vote = state["at"], state["vote"]
    with builder.if_then(builder.icmp_signed("==", place, ir.Constant(INT, 0))):
        builder.store(ir.Constant(INTS, [0] * WIDTH), at)
    left = _goes_left(builder, pointers, node, state["scale"])
    here = builder.icmp_signed("==", builder.load(at), _spread(builder, place))
    for variable, array, column in ((at, "links", 1), (vote, "numbers", 4)):
        taken = _of_side(builder, pointers, left, array, column, node)
        builder.store(builder.select(here, taken, builder.load(variable)), variable)
    size = _item(builder, pointers, "links", node, 3)
    with builder.if_then(builder.icmp_signed("==", builder.add(place, ir.Constant(INT, 1)), size)):
        _add_votes(builder, builder.load(vote), state)


def _add_votes(builder: Builder, votes: Value, state: Pointers) -> None:
    total = state["total"]
    builder.store(builder.fadd(builder.load(total), builder.fpext(votes, DOUBLES)), total)


def _emit_stage(
    builder: Builder,
    pointers: Pointers,
    column: Value,
    nodes: tuple[Value, Value],
    emit_node: Callable[..., None],
) -> Value:
    """Run the nodes on eight windows and return their sums."""
    state = {
        "scale": _eight(builder, pointers["scales"], column, FLOATS),
        "total": _variable(builder, ir.Constant(DOUBLES, [0.0] * WIDTH)),
        "at": _variable(builder, ir.Constant(INTS, [0] * WIDTH)),
        "vote": _variable(builder, ir.Constant(FLOATS, [0.0] * WIDTH)),
    }
    loop = cgutils.for_range_slice(builder, *nodes, ir.Constant(INDEX, 1), intp=INDEX)
    with loop as (node, _):
        emit_node(builder, pointers, node, state)
    return builder.load(state["total"])


def _stage(emit_node: Callable[..., None]) -> Callable[..., Any]:
    """Make the intrinsic that runs one stage.

    Its arguments are those of `vjcascade.kernels.scan.block_stage`, with the stage given by its first node, the
    node behind its last, and its threshold.
    """

    def declare(_, planes, base, scales, column, model, first, end, threshold, sums):  # type: ignore[no-untyped-def]
        kinds = (planes, base, scales, column, model, first, end, threshold, sums)

        def emit(context, builder, _, arguments):  # type: ignore[no-untyped-def]
            def data(kind: Any, value: Value) -> Value:
                return context.make_array(kind)(context, builder, value).data

            values = dict(
                zip(("planes", "base", "scales", "column", "model", "first", "end"), arguments, strict=False)
            )
            arrays = cgutils.unpack_tuple(builder, values["model"])  # type: ignore[no-untyped-call]
            parts = zip(COLUMNS, model.types, arrays, strict=False)
            pointers = {name: data(kind, value) for name, kind, value in parts}
            pointers["window"] = builder.gep(data(planes, values["planes"]), [values["base"]])
            pointers["scales"] = data(scales, values["scales"])
            nodes = (values["first"], values["end"])
            total = _emit_stage(builder, pointers, values["column"], nodes, emit_node)
            builder.store(total, builder.bitcast(data(sums, arguments[8]), DOUBLES.as_pointer()), align=8)
            fails = builder.fcmp_ordered("<", total, _spread(builder, arguments[7]))
            return builder.zext(builder.bitcast(builder.not_(fails), ir.IntType(WIDTH)), INDEX)

        return types.int64(*kinds), emit

    declare.__doc__ = "Return as bits which of eight windows pass a stage; OUT sums (8,) float64."
    return intrinsic(declare)


stump_stage = _stage(_emit_stump)
tree_stage = _stage(_emit_tree_node)
