"""Plain loops that say what the fast code must compute. No numba, no cleverness."""

from __future__ import annotations

import math

import numpy as np

# --- integral images -------------------------------------------------------------------------------------------


def integral_image(gray):
    height, width = gray.shape
    out = np.zeros((height + 1, width + 1), np.int64)
    for y in range(height + 1):
        for x in range(width + 1):
            out[y, x] = int(gray[:y, :x].astype(np.int64).sum())
    return out


def squared_integral(gray):
    return integral_image(gray.astype(np.int64) ** 2) % 2**32


def tilted_integral(gray):
    height, width = gray.shape
    rows = gray.tolist()
    return np.array([[tilted_sum(rows, x, y) for x in range(width + 1)] for y in range(height + 1)], np.int64)


def tilted_sum(rows, big_x, big_y):
    """T(X, Y): the sum of I(x, y) over y < Y and |x - X + 1| <= Y - y - 1 (OpenCV's definition)."""
    total = 0
    for y in range(big_y):
        reach = big_y - y - 1
        left, end = max(big_x - 1 - reach, 0), max(big_x + reach, 0)
        total += sum(rows[y][left:end])
    return total


# --- one window ------------------------------------------------------------------------------------------------


def rectangle_sum(window, rect, tilted):
    """Sum of the pixels of one rectangle; a tilted one by the corners of its tilted integral image."""
    x, y, w, h = (int(v) for v in rect)
    if not tilted:
        return int(window[y : y + h, x : x + w].astype(np.int64).sum())
    corners = (x, y), (x - h, y + h), (x + w, y + w), (x + w - h, y + w + h)
    top, left, right, bottom = (tilted_sum(window.tolist(), *corner) for corner in corners)
    return top - left - right + bottom


def feature_value(window, feature):
    """Float32 products in order, not yet normalised."""
    value = np.float32(0)
    for i, (rect, weight) in enumerate(zip(feature["rects"], feature["weights"], strict=True)):
        if weight == 0 and i == 2:
            continue
        part = np.float32(weight) * np.float32(rectangle_sum(window, rect, bool(feature["tilted"])))
        value = part if i == 0 else np.float32(value + part)
    return value


def normalisation(window):
    """Return the float32 factor 1 / (area * sigma) of a window, or None below the contrast floor."""
    norm_rect = window[1:-1, 1:-1].astype(np.int64)
    area = norm_rect.size
    nf = float(area) * float((norm_rect**2).sum()) - float(norm_rect.sum()) * float(norm_rect.sum())
    if nf <= 0:
        return None
    v = np.float32(1 / math.sqrt(nf))
    return v if float(area) * float(v) < 0.1 else None


def lbp_code(window, cell):
    """Bits of the cells that are at least as bright as the middle one, clockwise from the top left, highest first."""
    x, y, w, h = (int(v) for v in cell)

    def cell_sum(column, row):
        left, top = x + column * w, y + row * h
        return int(window[top : top + h, left : left + w].astype(np.int64).sum())

    ring = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1)]
    return sum((cell_sum(*place) >= cell_sum(1, 1)) << (7 - i) for i, place in enumerate(ring))


def goes_left(cascade, node, window, v):
    """Tell which side of a node a window takes."""
    feature = cascade.features[node["feature"]]
    if "subset" in node.dtype.names:
        code = lbp_code(window, feature["cell"])
        return bool(int(node["subset"][code // 32]) >> (code % 32) & 1)
    return bool(np.float32(feature_value(window, feature) * v) < node["threshold"])


def evaluate_window(cascade, window):
    """Return the stages passed (-1 below the contrast floor) and the last evaluated stage's sum."""
    total = 0.0
    sums = stage_sums(cascade, window)
    if sums is None:
        return -1, 0.0
    for stage, total in enumerate(sums):
        if total < float(cascade.effective_thresholds[stage]):
            return stage, total
    return cascade.n_stages, total


def stage_sums(cascade, window):
    """Return the sum of each stage, whichever of them reject the window; None below the contrast floor."""
    v = None
    if "subset" not in cascade.nodes.dtype.names:  # LBP knows no contrast
        v = normalisation(window)
        if v is None:
            return None
    return [stage_sum(cascade, stage, window, v) for stage in range(cascade.n_stages)]


def stage_sum(cascade, stage, window, v):
    """Return the sum of the votes of a stage's trees."""
    total = 0.0
    for tree in range(cascade.stage_starts[stage], cascade.stage_starts[stage + 1]):
        first = int(cascade.tree_starts[tree])
        node = 0
        while True:
            record = cascade.nodes[first + node]
            node = int(record["left"] if goes_left(cascade, record, window, v) else record["right"])
            if node <= 0:
                break
        total += float(cascade.leaves[first + tree - node])
    return total


# --- scanning one level ----------------------------------------------------------------------------------------


def nodes_visited(cascade, stage, window):
    """Return how many nodes of a stage's trees a window visits."""
    v, n = normalisation(window), 0
    for t in range(cascade.stage_starts[stage], cascade.stage_starts[stage + 1]):
        place = 0
        while True:
            n += 1
            node = cascade.nodes[cascade.tree_starts[t] + place]
            place = node["left"] if goes_left(cascade, node, window, v) else node["right"]
            if place <= 0:
                break
    return n


def scan_rows(cascade, level, rows, step=1, min_stages=None):
    """Return [(x, y, sum, stages passed)] of the windows that come far enough, and the number looked at."""
    width, height = cascade.window
    found, looked_at = [], 0
    for y in rows:
        for x in range(0, level.shape[1] - width + 1, step):
            looked_at += 1
            passed, total = evaluate_window(cascade, level[y : y + height, x : x + width])
            if passed >= (cascade.n_stages if min_stages is None else min_stages):
                found.append((x, y, total, passed))
    return found, looked_at


def scan_opencv(cascade, level, step, n_stripes):
    """As `scan_rows`, on OpenCV's grid: early skip after stage 0, last rows lost by stripes."""
    width, height = cascade.window
    rows = level.shape[0] - height + 1
    stripe = max((rows // step + n_stripes - 1) // n_stripes, 1) * step
    found, looked_at = [], 0
    for y in range(0, min(stripe * n_stripes, rows), step):
        x = 0
        while x < level.shape[1] - width + 1:
            looked_at += 1
            passed, total = evaluate_window(cascade, level[y : y + height, x : x + width])
            if passed == cascade.n_stages:
                found.append((x, y, total, passed))
            x += 2 * step if passed == 0 and cascade.n_stages else step
    return found, looked_at


# --- grouping --------------------------------------------------------------------------------------------------


def similar(a, b, eps=0.2):
    d = eps * (min(a[2], b[2]) + min(a[3], b[3])) * 0.5
    return (
        abs(a[0] - b[0]) <= d
        and abs(a[1] - b[1]) <= d
        and abs(a[0] + a[2] - b[0] - b[2]) <= d
        and abs(a[1] + a[3] - b[1] - b[3]) <= d
    )


def group_labels(boxes, eps=0.2):
    """Connected components of `similar`, numbered by their first members."""
    boxes = [[int(v) for v in box] for box in boxes]
    labels = [-1] * len(boxes)
    n_labels = 0
    for start in range(len(boxes)):
        if labels[start] >= 0:
            continue
        labels[start], waiting = n_labels, [start]
        while waiting:
            i = waiting.pop()
            for j in range(len(boxes)):
                if labels[j] < 0 and similar(boxes[i], boxes[j], eps):
                    labels[j] = n_labels
                    waiting.append(j)
        n_labels += 1
    return labels


def group_boxes(boxes, weights, threshold, eps=0.2):
    """OpenCV's groupRectangles: [(box, count, largest weight)]."""
    labels = group_labels(boxes, eps)
    classes = []
    for label in range(max(labels, default=-1) + 1):
        members = [i for i, own in enumerate(labels) if own == label]
        share = np.float32(1) / np.float32(len(members))
        total = [sum(int(boxes[i][k]) for i in members) for k in range(4)]
        box = [int(np.rint(np.float32(t) * share)) for t in total]
        classes.append((box, len(members), max(float(weights[i]) for i in members)))
    large = [one for one in classes if one[1] > threshold]
    inside = inside_others([box for box, _, _ in large], [n for _, n, _ in large], eps)
    return [one for one, drop in zip(large, inside, strict=True) if not drop]


def inside_others(boxes, counts, eps):
    """Whether each box lies inside another, enlarged by eps, that more windows speak for."""
    boxes = [[int(v) for v in box] for box in boxes]
    inside = [False] * len(boxes)
    for i, (a, n_a) in enumerate(zip(boxes, counts, strict=True)):
        for j, (b, n_b) in enumerate(zip(boxes, counts, strict=True)):
            dx, dy = int(np.rint(b[2] * eps)), int(np.rint(b[3] * eps))
            lies_in = (
                a[0] >= b[0] - dx
                and a[1] >= b[1] - dy
                and a[0] + a[2] <= b[0] + b[2] + dx
                and a[1] + a[3] <= b[1] + b[3] + dy
            )
            inside[i] |= j != i and lies_in and (n_b > max(3, n_a) or n_a < 3)
    return inside


# --- the feature pool ------------------------------------------------------------------------------------------


def haar_features(width, height, mode):
    """Return [(tilted, [(x, y, w, h, weight), ...])] in the order of the loops of OpenCV's trainer."""
    core, all_modes = mode in ("core", "all"), mode == "all"
    found = []
    for x in range(width):
        for y in range(height):
            for dx in range(1, width + 1):
                for dy in range(1, height + 1):
                    found += upright_features(width, height, x, y, dx, dy, core)
                    if all_modes:
                        found += tilted_features(width, height, x, y, dx, dy)
    return found


def upright_features(width, height, x, y, dx, dy, core):
    def fits(columns, rows):
        return x + columns * dx <= width and y + rows * dy <= height

    found = []
    if fits(2, 1):
        found.append([(x, y, 2 * dx, dy, -1), (x + dx, y, dx, dy, 2)])
    if fits(1, 2):
        found.append([(x, y, dx, 2 * dy, -1), (x, y + dy, dx, dy, 2)])
    if fits(3, 1):
        found.append([(x, y, 3 * dx, dy, -1), (x + dx, y, dx, dy, 3)])
    if fits(1, 3):
        found.append([(x, y, dx, 3 * dy, -1), (x, y + dy, dx, dy, 3)])
    if core and fits(4, 1):
        found.append([(x, y, 4 * dx, dy, -1), (x + dx, y, 2 * dx, dy, 2)])
    if core and fits(1, 4):
        found.append([(x, y, dx, 4 * dy, -1), (x, y + dy, dx, 2 * dy, 2)])
    if fits(2, 2):
        found.append([(x, y, 2 * dx, 2 * dy, -1), (x, y, dx, dy, 2), (x + dx, y + dy, dx, dy, 2)])
    if core and fits(3, 3):
        found.append([(x, y, 3 * dx, 3 * dy, -1), (x + dx, y + dy, dx, dy, 9)])
    return [(False, rects) for rects in found]


def tilted_features(width, height, x, y, dx, dy):
    def fits(columns, rows):
        w, h = columns * dx, rows * dy
        return x + w <= width and y + w + h <= height and x - h >= 0

    found = []
    if fits(2, 1):
        found.append([(x, y, 2 * dx, dy, -1), (x, y, dx, dy, 2)])
    if fits(1, 2):
        found.append([(x, y, dx, 2 * dy, -1), (x, y, dx, dy, 2)])
    if fits(3, 1):
        found.append([(x, y, 3 * dx, dy, -1), (x + dx, y + dx, dx, dy, 3)])
    if fits(1, 3):
        found.append([(x, y, dx, 3 * dy, -1), (x - dy, y + dy, dx, dy, 3)])
    if fits(4, 1):
        found.append([(x, y, 4 * dx, dy, -1), (x + dx, y + dx, 2 * dx, dy, 2)])
    if fits(1, 4):
        found.append([(x, y, dx, 4 * dy, -1), (x - dy, y + dy, dx, 2 * dy, 2)])
    return [(True, rects) for rects in found]


# --- weak classifiers ------------------------------------------------------------------------------------------


def weighted_errors(outputs, labels, weights):
    """Return the weight of the positives called negative, and of the negatives called positive."""
    error_p = error_n = 0.0
    for output, label, weight in zip(outputs, labels, weights, strict=True):
        if output != label and label > 0:
            error_p += float(weight)
        elif output != label:
            error_n += float(weight)
    return error_p, error_n


def least_binned_error(bins, labels, weights, n_bins=256):
    """Least weighted error of one feature over all cuts between bins, both ways."""
    least = math.inf
    for cut in range(1, n_bins):
        right = [1 if int(b) >= cut else -1 for b in bins]
        for outputs in (right, [-o for o in right]):
            least = min(least, sum(weighted_errors(outputs, labels, weights)))
    return least


def least_binned_gini(bins, positive_part, negative_part, n_bins=256):
    """Least sum of both sides' 2 P N / (P + N) of one feature over all cuts between bins."""
    least = math.inf
    for cut in range(1, n_bins):
        total = 0.0
        for side in (True, False):
            inside = [i for i, b in enumerate(bins) if (int(b) < cut) == side]
            p = sum(float(positive_part[i]) for i in inside)
            n = sum(float(negative_part[i]) for i in inside)
            total += 2 * p * n / (p + n) if p + n else 0.0
        least = min(least, total)
    return least


def lbp_cells(width, height):
    """List the cells of all LBP features in OpenCV's order."""
    return [
        (x, y, w, h)
        for x in range(width)
        for y in range(height)
        for w in range(1, width // 3 + 1)
        for h in range(1, height // 3 + 1)
        if x + 3 * w <= width and y + 3 * h <= height
    ]


def stumps(values):
    """Yield the outputs of every stump between two different values of a feature, both ways."""
    for threshold in sorted({float(v) for v in values})[1:]:
        right = [1 if float(v) >= threshold else -1 for v in values]
        yield right
        yield [-o for o in right]


def best_feature(rows, labels, weights, tolerance=1e-12):
    """Return (feature, error): the lowest feature among those with the best stump; no constants."""
    best = [
        min((sum(weighted_errors(o, labels, weights)) for o in stumps(row)), default=math.inf) for row in rows
    ]
    least = min(best)
    return next(f for f, error in enumerate(best) if error <= least + tolerance), least


# --- boosting with weights as products -------------------------------------------------------------------------


def initial_weights(labels, cost_p, cost_n, prior):
    """Return D_1 of Cost-Generalized AdaBoost; equal costs with `prior="sample"` are AdaBoost's."""
    n_p = sum(1 for label in labels if label > 0)
    n_n = len(labels) - n_p
    raw = []
    for label in labels:
        cost, size = (cost_p, n_p) if label > 0 else (cost_n, n_n)
        raw.append(cost / size if prior == "class" else cost)
    return [w / sum(raw) for w in raw]


def half_log_odds(error, floor=1e-12):
    error = min(max(error, floor), 1 - floor)
    return 0.5 * math.log((1 - error) / error)


def reweight(weights, labels, outputs, alpha):
    """Return the next round's weights and Z, the sum before it is divided by."""
    raw = [w * math.exp(-alpha * int(y) * int(h)) for w, y, h in zip(weights, labels, outputs, strict=True)]
    return [w / sum(raw) for w in raw], sum(raw)


def boost_pool(pool, labels, weights, n_rounds, tolerance=1e-12):
    """AdaBoost from given weights over explicit outputs (one row a hypothesis), to the letter of the formulas.

    Stops where alpha <= 0, and after a perfect hypothesis. Returns [(index, alpha)], the final weights and all Z.
    """
    chosen, factors = [], []
    for _ in range(n_rounds):
        errors = [sum(weighted_errors(outputs, labels, weights)) for outputs in pool]
        best = next(i for i, error in enumerate(errors) if error <= min(errors) + tolerance)
        alpha = half_log_odds(errors[best])
        if alpha <= tolerance:
            break
        weights, z = reweight(weights, labels, pool[best], alpha)
        chosen.append((best, alpha))
        factors.append(z)
        if all(int(h) == int(y) for h, y in zip(pool[best], labels, strict=True)):
            break
    return chosen, weights, factors


def to_gray(rgb):
    """Return grey levels by OpenCV's 8-bit formula."""
    r, g, b = (rgb[..., i].astype(np.int64) for i in range(3))
    return ((3735 * b + 19235 * g + 9798 * r + 16384) >> 15).astype(np.uint8)


def over_mid_grey(values, alpha):
    """Lay pixels over mid grey; `alpha` in [0, 255]."""
    return np.rint(alpha / 255 * values + (1 - alpha / 255) * 128).astype(np.uint8)


def sample_affine(gray, matrix, offset, width, height):
    """Bilinear samples at `matrix @ (row, column) + offset`; beyond the border, of the pixels at the edge."""
    last_row, last_column = len(gray) - 1, len(gray[0]) - 1

    def pixel(row, column):
        return float(gray[min(max(row, 0), last_row)][min(max(column, 0), last_column)])

    rows = []
    for i in range(height):
        rows.append([])
        for j in range(width):
            y = min(max(matrix[0][0] * i + matrix[0][1] * j + offset[0], 0), last_row)
            x = min(max(matrix[1][0] * i + matrix[1][1] * j + offset[1], 0), last_column)
            top, left = int(y), int(x)
            down, right = y - top, x - left
            upper = (1 - right) * pixel(top, left) + right * pixel(top, left + 1)
            lower = (1 - right) * pixel(top + 1, left) + right * pixel(top + 1, left + 1)
            rows[-1].append((1 - down) * upper + down * lower)
    return rows


def outdated_shares(parts, held, unit):
    """How far each sample's weights are from those of the histograms, as shares of each class's weight."""
    sums = [sum(part) for part in parts]
    return np.array(
        [sum(abs(parts[c][i] - held[c][i] * unit[c]) / sums[c] for c in (0, 1)) for i in range(len(parts[0]))]
    )


def n_to_update(shares, budget):
    """How many samples, those of the largest shares, are updated so that the others' shares are within the budget."""
    left = 0.0
    for n, share in enumerate(sorted(shares)):
        left += share
        if left > budget:
            return len(shares) - n
    return 0
