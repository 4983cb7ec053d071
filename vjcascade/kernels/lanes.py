"""Eight neighbouring windows at once, in vector registers: their contrasts, and one stage of a cascade.

LLVM does not vectorise a loop over windows automatically: with so many arrays it cannot prove that they do not overlap.
So the vector code is generated explicitly. No operation is reordered, so every lane computes exactly what
`vjcascade.kernels.scan.window_scale` and `scalar_stage` compute; the layout of the model is described there.
`vjcascade.kernels.fast_lanes` sums votes less exactly, and leaves undecided windows to `exact_stage`.

Each loop step evaluates one node on all lanes of one or two blocks of windows, which share the cost of reading the
node. In a tree, each lane has the index of the node that it has reached, and only lanes at the node of this step
continue or vote.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from llvmlite import ir
from numba import config as numba_config, types
from numba.core import cgutils
from numba.extending import intrinsic

WIDTH = 8
LANES = 1 if numba_config.DISABLE_JIT else WIDTH  # type: ignore[attr-defined]
"""Windows in a block; one if numba is disabled, since vector code needs the compiler."""

CONTRAST_FLOOR = 0.1
"""A window is evaluated if area / (area * sigma) is below it: sigma above ten grey levels (OpenCV's rule)."""

Builder: TypeAlias = ir.IRBuilder
Value: TypeAlias = ir.Value
Pointers: TypeAlias = dict[str, ir.Value]
Block: TypeAlias = dict[str, ir.Value]
Test: TypeAlias = Callable[[Builder, Pointers, Value, Sequence[Block]], list[Value]]

INT, FLOAT, DOUBLE, INDEX = ir.IntType(32), ir.FloatType(), ir.DoubleType(), ir.IntType(64)
INTS, FLOATS, DOUBLES = (ir.VectorType(element, WIDTH) for element in (INT, FLOAT, DOUBLE))
MODEL = (
    "offsets",
    "numbers",
    "links",
    "stage_ends",
    "thresholds",
    "subsets",
    "bounds",
    "fast_nodes",
    "fast_ends",
)

COLUMNS = {"numbers": 6, "links": 4, "subsets": 8}  # offsets have 12 or 16

NEIGHBOURS = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))
"""Row and column of the LBP cells that give the bits 128, 64, 32, ... of the code."""


def item(builder: Builder, pointer: Value, n_columns: int, node: Value, column: int) -> Value:
    """Load one item of a node."""
    row = builder.mul(node, ir.Constant(INDEX, n_columns))
    return builder.load(builder.gep(pointer, [builder.add(row, ir.Constant(INDEX, column))]))


def field(builder: Builder, pointers: Pointers, array: str, node: Value, column: int) -> Value:
    """Load one item of a node, the same for all lanes."""
    return spread(builder, item(builder, pointers[array], COLUMNS[array], node, column))


def eight(builder: Builder, pointer: Value, index: Value, kind: ir.VectorType) -> Value:
    """Load eight adjacent items."""
    return builder.load(builder.bitcast(builder.gep(pointer, [index]), kind.as_pointer()), align=4)


def spread(builder: Builder, value: Value, width: int = WIDTH) -> Value:
    """Copy a scalar to all lanes."""
    empty = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(INT, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(INT, width), [0] * width))


def all_lanes(kind: ir.VectorType, value: float) -> Value:
    """Return a constant in all lanes."""
    return ir.Constant(kind, [value] * WIDTH)


def variable(builder: Builder, value: Value) -> Value:
    """Return a variable that starts with `value`; LLVM keeps it in a register."""
    return cgutils.alloca_once_value(builder, value)  # type: ignore[no-untyped-call]


def _corners(
    builder: Builder, pointers: Pointers, node: Value, numbers: range, block: Block, n_columns: int
) -> list[Value]:
    """Load the values of the integral image at some corners of a feature."""
    offsets = [builder.zext(item(builder, pointers["offsets"], n_columns, node, i), INDEX) for i in numbers]
    return [eight(builder, block["window"], offset, INTS) for offset in offsets]


def rectangle(builder: Builder, corners: Sequence[Value]) -> Value:
    """Return the sum over a rectangle."""
    return builder.add(builder.sub(builder.sub(corners[0], corners[1]), corners[2]), corners[3])


def _weighted_sum(builder: Builder, pointers: Pointers, node: Value, rect: int, block: Block) -> Value:
    """Return the float32 product of a rectangle's weight and its sum."""
    corners = _corners(builder, pointers, node, range(4 * rect, 4 * rect + 4), block, 12)
    weight = field(builder, pointers, "numbers", node, rect)
    return builder.fmul(weight, builder.sitofp(rectangle(builder, corners), FLOATS))


def _haar_goes_left(
    builder: Builder, pointers: Pointers, node: Value, blocks: Sequence[Block]
) -> list[Value]:
    """Return in which lanes of each block the normalised feature value is below the threshold."""
    values = [
        variable(
            builder,
            builder.fadd(*[_weighted_sum(builder, pointers, node, rect, block) for rect in (0, 1)]),
        )
        for block in blocks
    ]
    weight = item(builder, pointers["numbers"], COLUMNS["numbers"], node, 2)
    with builder.if_then(builder.fcmp_unordered("!=", weight, ir.Constant(FLOAT, 0.0))):
        for value, block in zip(values, blocks, strict=True):
            third = _weighted_sum(builder, pointers, node, 2, block)
            builder.store(builder.fadd(builder.load(value), third), value)
    threshold = field(builder, pointers, "numbers", node, 3)
    return [
        builder.fcmp_ordered("<", builder.fmul(builder.load(value), block["scale"]), threshold)
        for value, block in zip(values, blocks, strict=True)
    ]


def _lbp_goes_left(builder: Builder, pointers: Pointers, node: Value, blocks: Sequence[Block]) -> list[Value]:
    """Return in which lanes of each block the code of the eight cells is in the node's subset."""
    return [_is_in_subset(builder, pointers, node, block) for block in blocks]


def _is_in_subset(builder: Builder, pointers: Pointers, node: Value, block: Block) -> Value:
    corners = _corners(builder, pointers, node, range(16), block, 16)
    cells = [
        [rectangle(builder, [corners[4 * y + x + i] for i in (0, 1, 4, 5)]) for x in range(3)]
        for y in range(3)
    ]
    bits = [builder.icmp_signed(">=", cells[y][x], cells[1][1]) for y, x in NEIGHBOURS]
    words = [field(builder, pointers, "subsets", node, word) for word in range(8)]
    for bit in reversed(bits[:3]):  # the three highest bits choose the word of the subset
        words = [builder.select(bit, words[i + 1], words[i]) for i in range(0, len(words), 2)]
    place = all_lanes(INTS, 0)
    for i, bit in enumerate(bits[3:]):
        flag = builder.select(bit, all_lanes(INTS, 16 >> i), all_lanes(INTS, 0))
        place = builder.or_(place, flag)
    return builder.trunc(builder.lshr(words[0], place), ir.VectorType(ir.IntType(1), WIDTH))


def _of_side(
    builder: Builder, pointers: Pointers, left: Value, array: str, column: int, node: Value
) -> Value:
    """Return in each lane the item of the chosen side: the left one's from `column`, the right one's from the next."""
    sides = [field(builder, pointers, array, node, column + side) for side in (0, 1)]
    return builder.select(left, *sides)


def _emit_stump(builder: Builder, pointers: Pointers, node: Value, left: Value, block: Block) -> None:
    """Add the votes of a stump."""
    _add_votes(builder, _of_side(builder, pointers, left, "numbers", 4, node), block)


def _emit_tree_node(builder: Builder, pointers: Pointers, node: Value, left: Value, block: Block) -> None:
    """Store the votes of the lanes at this node, and move these to a child; after a tree's last node, add the votes."""
    place, size = (item(builder, pointers["links"], COLUMNS["links"], node, column) for column in (0, 3))
    at, vote = block["at"], block["vote"]
    here = builder.icmp_signed("==", builder.load(at), spread(builder, place))
    votes = builder.select(here, _of_side(builder, pointers, left, "numbers", 4, node), builder.load(vote))
    builder.store(votes, vote)
    is_last = builder.icmp_signed("==", builder.add(place, ir.Constant(INT, 1)), size)
    with builder.if_else(is_last) as (after_last, before):
        with after_last:
            _add_votes(builder, votes, block)
            builder.store(all_lanes(INTS, 0), at)  # the place of the next tree's root
        with before:
            taken = _of_side(builder, pointers, left, "links", 1, node)
            builder.store(builder.select(here, taken, builder.load(at)), at)


def _add_votes(builder: Builder, votes: Value, block: Block) -> None:
    total = builder.load(block["total"])
    if total.type == DOUBLES:
        votes = builder.fpext(votes, DOUBLES)
    builder.store(builder.fadd(total, votes), block["total"])


def data_of(context: Any, builder: Builder, kind: Any, value: Value) -> Value:
    """Return the pointer to an array's items."""
    return context.make_array(kind)(context, builder, value).data


def is_lbp(model: Any) -> bool:
    """Return whether a type of model has LBP features."""
    return bool(model.types[MODEL.index("subsets")].dtype != types.int8)  # int8 marks an absent array


def has_trees(model: Any) -> bool:
    """Return whether a type of model has trees of more than one node."""
    return bool(model.types[MODEL.index("links")].dtype != types.int8)


def bits_of(builder: Builder, lanes: Value, first: int) -> Value:
    """Turn a truth value for each lane into bits of a number, from bit `first` on."""
    mask = builder.zext(builder.bitcast(lanes, ir.IntType(lanes.type.count)), INDEX)
    return builder.shl(mask, ir.Constant(INDEX, first))


class Stage:
    """Common code of the intrinsics that run a stage; their first arguments are the same.

    Parameters
    ----------
    context, builder, kinds, arguments : object
        Those of the intrinsic.
    also : int, optional
        Distance in windows of a second block after the first one.
    """

    def __init__(
        self,
        context: Any,
        builder: Builder,
        kinds: Sequence[Any],
        arguments: Sequence[Any],
        also: int | None = None,
    ) -> None:
        self.context, self.builder, self.kinds, self.arguments = context, builder, kinds, arguments
        self.starts = list(self.unpacked(3))
        if also is not None:
            self.starts.append(builder.add(self.starts[0], ir.Constant(INDEX, also)))

    def data(self, which: int) -> Value:
        """Return the pointer to the items of an argument."""
        return data_of(self.context, self.builder, self.kinds[which], self.arguments[which])

    def unpacked(self, which: int) -> Any:
        """Return the parts of an argument that is a tuple."""
        return cgutils.unpack_tuple(self.builder, self.arguments[which])  # type: ignore[no-untyped-call]

    def pointers(self) -> Pointers:
        """Return the arrays of the model."""
        parts = zip(MODEL, self.kinds[4].types, self.unpacked(4), strict=True)
        return {name: data_of(self.context, self.builder, kind, value) for name, kind, value in parts}

    def blocks(self, total: Value) -> list[Block]:
        """Return the window pointer, scales and sum of each block; sums begin with `total`."""
        window = self.builder.gep(self.data(0), [self.arguments[1]])
        return [
            {
                "window": self.builder.gep(window, [start]),
                "scale": eight(self.builder, self.data(2), start, FLOATS),
                "total": variable(self.builder, total),
            }
            for start in self.starts
        ]

    def totals(self, sums: ir.VectorType) -> list[Value]:
        """Run the nodes on every block and return the sums of votes, of type `sums`."""
        builder, model = self.builder, self.kinds[4]
        pointers, blocks = self.pointers(), self.blocks(all_lanes(sums, 0.0))
        for block in blocks:
            block["at"] = variable(builder, all_lanes(INTS, 0))
            block["vote"] = variable(builder, all_lanes(FLOATS, 0.0))
        goes_left: Test = _lbp_goes_left if is_lbp(model) else _haar_goes_left
        emit_node = _emit_tree_node if has_trees(model) else _emit_stump
        first, end = self.unpacked(5)
        loop = cgutils.for_range_slice(builder, first, end, ir.Constant(INDEX, 1), intp=INDEX)
        with loop as (node, _):
            for left, block in zip(goes_left(builder, pointers, node, blocks), blocks, strict=True):
                emit_node(builder, pointers, node, left, block)
        return [builder.load(block["total"]) for block in blocks]


def _exact_stage(_, planes, base, scales, starts, model, nodes, threshold, sums):  # type: ignore[no-untyped-def]
    """Run one stage on one or two blocks of windows, with sums in float64.

    Arguments as of `vjcascade.kernels.fast_lanes.quick_stage`. Return as bits which windows pass; OUT sums, at
    `starts`.
    """
    kinds = (planes, base, scales, starts, model, nodes, threshold, sums)

    def emit(context: Any, builder: Builder, _: Any, arguments: Any) -> Value:
        stage = Stage(context, builder, kinds, arguments)
        bits = ir.Constant(INDEX, 0)
        for i, (start, total) in enumerate(zip(stage.starts, stage.totals(DOUBLES), strict=True)):
            place = builder.gep(stage.data(7), [start])
            builder.store(total, builder.bitcast(place, DOUBLES.as_pointer()), align=8)
            passes = builder.not_(builder.fcmp_ordered("<", total, spread(builder, arguments[6])))
            bits = builder.or_(bits, bits_of(builder, passes, WIDTH * i))
        return bits

    return types.int64(*kinds), emit


def _eight_scales(_, planes, squared, base, norm_rect, area, scales, column):  # type: ignore[no-untyped-def]
    """Write `vjcascade.kernels.scan.window_scale` of eight windows to OUT scales, from `column` on.

    Return as bits which of them have enough contrast.
    """
    kinds = (planes, squared, base, norm_rect, area, scales, column)

    def emit(context: Any, builder: Builder, _: Any, arguments: Any) -> Value:
        def data(which: int) -> Value:
            return data_of(context, builder, kinds[which], arguments[which])

        corners = [builder.load(builder.gep(data(3), [ir.Constant(INDEX, i)])) for i in range(4)]
        places = [builder.add(arguments[2], builder.zext(corner, INDEX)) for corner in corners]
        total, raw = (
            rectangle(builder, [eight(builder, data(image), place, INTS) for place in places])
            for image in (0, 1)
        )
        total, raw = builder.sitofp(total, DOUBLES), builder.uitofp(raw, DOUBLES)
        size = spread(builder, arguments[4])
        variance = builder.fsub(builder.fmul(size, raw), builder.fmul(total, total))
        square_root = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, ir.FunctionType(DOUBLES, [DOUBLES]), f"llvm.sqrt.v{WIDTH}f64"
        )
        root = builder.call(square_root, [variance])
        scale = builder.fptrunc(builder.fdiv(all_lanes(DOUBLES, 1.0), root), FLOATS)
        share = builder.fmul(size, builder.fpext(scale, DOUBLES))
        is_clear = builder.and_(
            builder.fcmp_ordered(">", variance, all_lanes(DOUBLES, 0.0)),
            builder.fcmp_ordered("<", share, all_lanes(DOUBLES, CONTRAST_FLOOR)),
        )
        scale = builder.select(is_clear, scale, all_lanes(FLOATS, 0.0))
        place = builder.gep(data(5), [arguments[6]])
        builder.store(scale, builder.bitcast(place, FLOATS.as_pointer()), align=4)
        return builder.zext(builder.bitcast(is_clear, ir.IntType(WIDTH)), INDEX)

    return types.int64(*kinds), emit


def _lowest_bit(_, bits):  # type: ignore[no-untyped-def]  # noqa: ARG001  typed by its name
    """Return the index of the lowest bit that is set; at least one must be."""

    def emit(_context: Any, builder: Builder, _: Any, arguments: Any) -> Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), emit


exact_stage: Callable[..., Any] = intrinsic(_exact_stage)
eight_scales: Callable[..., Any] = intrinsic(_eight_scales)
lowest_bit: Callable[..., Any] = intrinsic(_lowest_bit)
