"""One stage of a cascade on eight or sixteen windows, in reduced precision, with exact decisions.

Sums of votes are in float32, where OpenCV uses float64, and in another order. Windows whose sums are so close to the
threshold that rounding could matter, a few in a million, are left undecided, and
`vjcascade.kernels.lanes.exact_stage` decides them.

Reading of corners dominates the time of a scan. Here most are read with 16 bits: a sum of rectangles with integer
weights modulo 2**16 is exact if it fits into 16 bits, however large the integral image is; this holds for 19 of 20
features in common models. Then twice as many windows fit into a register.

Nodes are in the order of `vjcascade.detection.fast_nodes`: grouped by the size of trees, and then by the shape of
features. The sum of a stage is a constant, plus a number from each node in the lanes that reach it and go left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from vjcascade.kernels.lanes import (
    FLOAT,
    FLOATS,
    INDEX,
    INT,
    MODEL,
    NEIGHBOURS,
    WIDTH,
    Builder,
    Stage,
    Value,
    bits_of,
    data_of,
    has_trees,
    is_lbp,
    rectangle,
    spread,
    variable,
)

LONG, EDGE, LINE, CHECKERBOARD, TWO = range(5)
"""Shapes of features: any shape, read with 32 bits; and shapes read with 16 bits, with shared corners, or of two
rectangles."""

UNDECIDED = 32
"""First bit of the undecided windows in the result of `quick_stage`."""

MAX_TREE = 3
"""Largest number of nodes in a tree: a root and two children."""

SHORT = ir.IntType(16)
N_BOUNDS = 3

MARK, FLIP, THRESHOLD, GAIN, OFFSETS, NUMBER, N_COLUMNS = 0, 1, 2, 3, 4, 11, 12
"""Columns of `fast_nodes`: shape, and from bits 8 and 16 on the weights of two rectangles; for the child in a tree of
two nodes, -1 if it is the right one, otherwise 0; bits of the threshold, and of the number that going left adds to the
sum of the stage; offsets and distances of corners; and in the last column, for long shapes and LBP, the index of the
node in the exact tables."""


class _Node:
    """A node, evaluated on the lanes of a stage."""

    def __init__(self, stage: _FastStage, node: Value) -> None:
        self.stage, self.builder, self.node = stage, stage.builder, node

    def item(self, column: int) -> Value:
        """Load a column of `fast_nodes`."""
        return self.stage.item("fast_nodes", self.node, column, N_COLUMNS)

    def spread_float(self, column: int) -> Value:
        """Load a float32 for all lanes."""
        return spread(self.builder, self.builder.bitcast(self.item(column), FLOAT), self.stage.width)

    def offsets(self, first: int, end: int) -> list[Value]:
        """Load some offsets or distances."""
        return [self.builder.sext(self.item(OFFSETS + i), INDEX) for i in range(first, end)]

    def exact_items(self, array: str, n_columns: int, wanted: range) -> list[Value]:
        """Load items of the node from a table of the exact model."""
        number = self.builder.sext(self.item(NUMBER), INDEX)
        return [self.stage.item(array, number, i, n_columns) for i in wanted]

    def exact_offsets(self, n: int) -> list[Value]:
        """Load all corners of the node."""
        return [self.builder.zext(item, INDEX) for item in self.exact_items("offsets", n, range(n))]

    def went_left(self) -> Value:
        """Return a mask with all bits set in the lanes that go left."""
        if self.stage.is_lbp:
            return self.choose({LONG: self._long_code, TWO: self._short_code}, self.stage.lanes(INT))
        ways = {
            LONG: self._long,
            EDGE: self._edge,
            LINE: self._line,
            CHECKERBOARD: self._checkerboard,
            TWO: self._two,
        }
        builder = self.builder
        value = self.choose(ways, self.stage.lanes(FLOAT))
        threshold = self.spread_float(THRESHOLD)
        is_below = builder.fcmp_ordered("<", builder.fmul(value, self.stage.scales), threshold)
        return builder.sext(is_below, self.stage.lanes(INT))

    def choose(self, ways: dict[int, Callable[[], Value]], kind: ir.VectorType) -> Value:
        """Return the result of the method for the node's shape."""
        builder = self.builder
        result = variable(builder, ir.Constant(kind, ir.Undefined))
        places = {shape: builder.append_basic_block() for shape in ways}
        behind = builder.append_basic_block()
        number = builder.and_(self.item(MARK), ir.Constant(INT, 255))
        switch = builder.switch(number, places[LONG])
        for shape, way in ways.items():
            if shape != LONG:
                switch.add_case(ir.Constant(INT, shape), places[shape])
            builder.position_at_end(places[shape])
            builder.store(way(), result)
            builder.branch(behind)
        builder.position_at_end(behind)
        return builder.load(result)

    def _side(self, offset: Value, distance: Value) -> Value:
        """Return the far corner minus the near one."""
        far = self.builder.add(offset, distance)
        return self.builder.sub(self.stage.short(far), self.stage.short(offset))

    def _sides(self, n: int) -> list[Value]:
        """Return, for each of n sides, its far corner minus its near one; the last offset is their distance."""
        *offsets, distance = self.offsets(0, n + 1)
        return [self._side(offset, distance) for offset in offsets]

    def _edge(self) -> Value:
        return self._float(self._second_difference(self._sides(3)))

    def _line(self) -> Value:
        builder, sides = self.builder, self._sides(4)
        middle, whole = builder.sub(sides[2], sides[1]), builder.sub(sides[3], sides[0])
        thrice = builder.add(builder.add(middle, middle), middle)
        return self._float(builder.sub(thrice, whole))

    def _checkerboard(self) -> Value:
        builder = self.builder
        offsets, distances = self.offsets(0, 3), self.offsets(3, 5)
        rows = [
            self._second_difference([self.stage.short(offset) for offset in row])
            for row in (offsets, *([builder.add(offset, far) for offset in offsets] for far in distances))
        ]
        return self._float(self._second_difference(rows))

    def _two(self) -> Value:
        builder, offsets = self.builder, self.offsets(0, 8)
        products = []
        for i in range(2):
            corners = [self.stage.short(offset) for offset in offsets[4 * i : 4 * i + 4]]
            shifted = builder.shl(self.item(MARK), ir.Constant(INT, 16 - 8 * i))
            weight = builder.trunc(builder.ashr(shifted, ir.Constant(INT, 24)), SHORT)
            products.append(
                builder.mul(rectangle(builder, corners), spread(builder, weight, self.stage.width))
            )
        return self._float(builder.add(*products))

    def _long(self) -> Value:
        builder = self.builder
        offsets, weights = self.exact_offsets(12), self.exact_items("numbers", 6, range(3))

        def weighted(i: int) -> Value:
            corners = [self.stage.long(offset) for offset in offsets[4 * i : 4 * i + 4]]
            weight = spread(builder, weights[i], self.stage.width)
            return builder.fmul(weight, self._float(rectangle(builder, corners)))

        value = variable(builder, builder.fadd(weighted(0), weighted(1)))
        with builder.if_then(builder.fcmp_unordered("!=", weights[2], ir.Constant(FLOAT, 0.0))):
            builder.store(builder.fadd(builder.load(value), weighted(2)), value)
        return builder.load(value)

    def _short_code(self) -> Value:
        builder = self.builder
        offsets, distances = self.offsets(0, 4), self.offsets(4, 7)
        rows = [offsets, *([builder.add(offset, far) for offset in offsets] for far in distances)]
        return self._is_in_subset([[self.stage.short(offset) for offset in row] for row in rows])

    def _long_code(self) -> Value:
        corners = [self.stage.long(offset) for offset in self.exact_offsets(16)]
        return self._is_in_subset([corners[i : i + 4] for i in range(0, 16, 4)])

    def _is_in_subset(self, corners: Sequence[Sequence[Value]]) -> Value:
        """Return whether the code of the eight cells around the middle one is in the node's subset."""
        # IN corners, four rows of four
        builder, width = self.builder, self.stage.width
        spans = [[builder.sub(row[i + 1], row[i]) for i in range(3)] for row in corners]
        cells = [[builder.sub(spans[y + 1][x], spans[y][x]) for x in range(3)] for y in range(3)]
        bits = [builder.icmp_unsigned(">=", cells[y][x], cells[1][1]) for y, x in NEIGHBOURS]
        words = [spread(builder, word, width) for word in self.exact_items("subsets", 8, range(8))]
        for bit in reversed(bits[:3]):  # the three highest bits choose the word of the subset
            words = [builder.select(bit, words[i + 1], words[i]) for i in range(0, len(words), 2)]
        ints = self.stage.lanes(INT)
        place = ir.Constant(ints, [0] * width)
        for i, bit in enumerate(bits[3:]):
            flag = builder.select(bit, ir.Constant(ints, [16 >> i] * width), ir.Constant(ints, [0] * width))
            place = builder.or_(place, flag)
        is_in = builder.trunc(builder.lshr(words[0], place), self.stage.lanes(ir.IntType(1)))
        return builder.sext(is_in, ints)

    def _second_difference(self, three: Sequence[Value]) -> Value:
        a, b, c = three
        return self.builder.sub(self.builder.sub(c, b), self.builder.sub(b, a))

    def _float(self, value: Value) -> Value:
        return self.builder.sitofp(value, self.stage.lanes(FLOAT))


class _FastStage:
    """A stage with small trees, on the lanes of one or two blocks of windows.

    Two adjacent blocks are read as one.
    """

    def __init__(
        self, context: Any, builder: Builder, kinds: Sequence[Any], arguments: Sequence[Any], *, is_wide: bool
    ) -> None:
        self.context, self.builder, self.kinds, self.arguments = context, builder, kinds, arguments
        model = kinds[5]
        self.is_lbp, self.has_trees = is_lbp(model), has_trees(model)
        parts = zip(MODEL, model.types, cgutils.unpack_tuple(builder, arguments[5]), strict=True)  # type: ignore[no-untyped-call]
        self.pointers = {name: data_of(context, builder, kind, value) for name, kind, value in parts}
        starts = cgutils.unpack_tuple(builder, arguments[4])  # type: ignore[no-untyped-call]
        self.width = WIDTH * (2 if is_wide else len(starts))
        self.starts = starts
        bases = [builder.add(arguments[2], start) for start in starts]
        longs, shorts = (self._data(i) for i in range(2))
        self.longs = [builder.gep(longs, [base]) for base in bases]
        self.shorts = [builder.gep(shorts, [base]) for base in bases]
        zero = ir.Constant(INDEX, 0)
        self.scales = self._read([builder.gep(self._data(3), [start]) for start in starts], zero, FLOAT)

    def _data(self, which: int) -> Value:
        return data_of(self.context, self.builder, self.kinds[which], self.arguments[which])

    def lanes(self, kind: ir.Type) -> ir.VectorType:
        """Return the vector type of all lanes."""
        return ir.VectorType(kind, self.width)

    def item(self, array: str, row: Value, column: int, n_columns: int) -> Value:
        """Load an item of one of the model's arrays."""
        builder = self.builder
        first = builder.mul(row, ir.Constant(INDEX, n_columns))
        place = builder.add(first, ir.Constant(INDEX, column))
        return builder.load(builder.gep(self.pointers[array], [place]))

    def short(self, offset: Value) -> Value:
        """Read corners with 16 bits."""
        return self._read(self.shorts, offset, SHORT)

    def long(self, offset: Value) -> Value:
        """Read corners with 32 bits."""
        return self._read(self.longs, offset, INT)

    def _read(self, windows: Sequence[Value], offset: Value, kind: ir.Type) -> Value:
        builder, width = self.builder, self.width // len(windows)
        pointer = ir.VectorType(kind, width).as_pointer()
        align = kind.width // 8 if isinstance(kind, ir.IntType) else 4
        parts = [
            builder.load(builder.bitcast(builder.gep(window, [offset]), pointer), align=align)
            for window in windows
        ]
        if len(parts) == 1:
            return parts[0]
        return builder.shuffle_vector(
            *parts, ir.Constant(ir.VectorType(INT, self.width), list(range(self.width)))
        )

    def total(self, stage: Value) -> Value:
        """Run trees of one node, then those of two, then those of three; return the sums of votes."""
        builder = self.builder
        total = variable(builder, spread(builder, self.item("bounds", stage, 2, N_BOUNDS), self.width))
        first = builder.mul(stage, ir.Constant(INDEX, MAX_TREE))
        ends = []
        for i in range(MAX_TREE + 1):
            place = builder.add(first, ir.Constant(INDEX, i))
            ends.append(builder.zext(builder.load(builder.gep(self.pointers["fast_ends"], [place])), INDEX))
        for size in range(1, MAX_TREE + 1) if self.has_trees else [1]:
            self._run_trees(size, (ends[size - 1], ends[size]), total)
        return builder.load(total)

    def _run_trees(self, size: int, ends: tuple[Value, Value], total: Value) -> None:
        """Run the trees of a size."""
        builder, ints = self.builder, self.lanes(INT)
        loop = cgutils.for_range_slice(builder, *ends, ir.Constant(INDEX, size), intp=INDEX)
        with loop as (first, _):
            nodes = [_Node(self, builder.add(first, ir.Constant(INDEX, i))) for i in range(size)]
            root = nodes[0].went_left()
            self._add_gain(nodes[0], root, total)
            for number, node in enumerate(nodes[1:], start=1):
                if size == MAX_TREE:  # the left child, then the right one
                    flip = ir.Constant(ints, [1 - number] * self.width)
                else:
                    flip = spread(builder, node.item(FLIP), self.width)
                self._add_gain(node, builder.and_(node.went_left(), builder.xor(root, flip)), total)

    def _add_gain(self, node: _Node, taken: Value, total: Value) -> None:
        """Add the gain of going left at a node, in the lanes of a mask."""
        builder = self.builder
        gain = spread(builder, node.item(GAIN), self.width)
        votes = builder.bitcast(builder.and_(taken, gain), self.lanes(FLOAT))
        builder.store(builder.fadd(builder.load(total), votes), total)


def _has_fast_nodes(model: Any) -> bool:
    return bool(model.types[-1].dtype != types.int8)  # int8 marks an absent array


def _quick_stage(_, planes, shorts, base, scales, starts, model, nodes, stage):  # type: ignore[no-untyped-def]
    """Run one stage on one or two blocks of windows, with sums in float32.

    `starts` are the blocks' first windows, relative to `base`, and their indices in `scales`; `nodes` are the stage's
    first node and the one after its last. Return as bits which windows certainly pass, the first block's lowest, and
    from bit `UNDECIDED` on which are undecided.
    """
    kinds = (planes, shorts, base, scales, starts, model, nodes, stage)

    def emit(context: Any, builder: Builder, _: Any, arguments: Any) -> Value:
        if _has_fast_nodes(model):
            run = _FastStage(context, builder, kinds, arguments, is_wide=False)
            return _verdict(run, run.total(arguments[7]), arguments[7])
        return _any_stage(context, builder, kinds, arguments)

    return types.int64(*kinds), emit


def _wide_stage(_, planes, shorts, base, scales, starts, model, nodes, stage):  # type: ignore[no-untyped-def]
    """Do the same as `quick_stage` for two adjacent blocks; `starts` has only that of the first."""
    kinds = (planes, shorts, base, scales, starts, model, nodes, stage)

    def emit(context: Any, builder: Builder, _: Any, arguments: Any) -> Value:
        if _has_fast_nodes(model):
            run = _FastStage(context, builder, kinds, arguments, is_wide=True)
            return _verdict(run, run.total(arguments[7]), arguments[7])
        return _any_stage(context, builder, kinds, arguments, also=WIDTH)

    return types.int64(*kinds), emit


def _verdict(run: _FastStage, total: Value, stage: Value) -> Value:
    """Return as bits which lanes pass, and which are undecided."""
    builder = run.builder
    low, high = (spread(builder, run.item("bounds", stage, column, N_BOUNDS), run.width) for column in (0, 1))
    passes, undecided = _compared(builder, total, low, high)
    return builder.or_(bits_of(builder, passes, 0), bits_of(builder, undecided, UNDECIDED))


def _compared(builder: Builder, total: Value, low: Value, high: Value) -> tuple[Value, Value]:
    passes = builder.fcmp_ordered(">=", total, high)
    fails = builder.fcmp_ordered("<", total, low)
    return passes, builder.not_(builder.or_(passes, fails))


def _any_stage(
    context: Any, builder: Builder, kinds: Sequence[Any], arguments: Sequence[Any], also: int | None = None
) -> Value:
    """Run a stage with larger trees, node by node, as `vjcascade.kernels.lanes` does."""
    planes, _, base, scales, starts, model, nodes, stage = arguments
    exact_kinds = (kinds[0], *kinds[2:7])
    run = Stage(context, builder, exact_kinds, (planes, base, scales, starts, model, nodes), also)
    place = builder.mul(stage, ir.Constant(INDEX, N_BOUNDS))
    bounds = run.pointers()["bounds"]
    low, high = (
        spread(builder, builder.load(builder.gep(bounds, [builder.add(place, ir.Constant(INDEX, i))])))
        for i in (0, 1)
    )
    bits = ir.Constant(INDEX, 0)
    for i, total in enumerate(run.totals(FLOATS)):
        passes, undecided = _compared(builder, total, low, high)
        bits = builder.or_(bits, bits_of(builder, passes, WIDTH * i))
        bits = builder.or_(bits, bits_of(builder, undecided, UNDECIDED + WIDTH * i))
    return bits


quick_stage: Callable[..., Any] = intrinsic(_quick_stage)
wide_stage: Callable[..., Any] = intrinsic(_wide_stage)
