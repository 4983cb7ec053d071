(function (root) {
  "use strict";

  const MODEL = @MODEL@;

  const f32 = Math.fround; // rounding the product or sum of two float32 values gives the result of float32 arithmetic

  /** Round half to even. */
  function rint(value) {
    const low = Math.floor(value);
    const rest = value - low;
    if (rest !== 0.5) return rest < 0.5 ? low : low + 1;
    return low % 2 === 0 ? low : low + 1;
  }

  /** A cascade that evaluates windows and finds objects in grey pictures. */
  class CascadeDetector {
    /** @param model the content of a JSON export; the model of this file if not given */
    constructor(model = MODEL) {
      [this.width, this.height] = model.window;
      this.settings = model.settings;
      this.isLbp = model.feature_type === "LBP";
      this.isTilted = !this.isLbp && model.tilted.some((one) => one !== 0);
      this.nNodes = model.node_features.length;
      this.nCorners = this.isLbp ? 16 : 12;
      this.features = model.node_features.map((i) => (this.isLbp ? model.cells[i] : model.rects[i]));
      this.tilted = this.isLbp ? [] : model.node_features.map((i) => model.tilted[i] !== 0);
      this.weights = new Float32Array(this.isLbp ? 0 : model.node_features.flatMap((i) => model.weights[i]));
      this.nodeThresholds = new Float32Array(this.isLbp ? 0 : model.node_thresholds);
      this.subsets = new Uint32Array(this.isLbp ? model.node_subsets.flat() : 0);
      this.left = new Int32Array(model.node_left);
      this.right = new Int32Array(model.node_right);
      this.treeStarts = new Int32Array(model.tree_starts);
      this.leaves = new Float32Array(model.leaves);
      this.stageStarts = new Int32Array(model.stage_starts);
      this.thresholds = new Float32Array(model.stage_thresholds);
      this.corners = new Int32Array(this.nNodes * this.nCorners);
      this.cornersFor = -1;
      this.lastSum = 0;
    }

    /**
     * Return how many stages a window of the model's size passes; all means accepted, -1 too little contrast.
     * @param pixels Uint8Array, row by row
     */
    judge(pixels) {
      this._integrals(pixels, this.width, this.height);
      return this._run(0);
    }

    /**
     * Find objects in a grey picture.
     * @param grey {data, width, height}: a Uint8Array of width * height levels; see toGrey
     * @param settings {scale_factor, min_neighbors, min_size, max_size, min_ranking_score}; the default of each is the
     *     model's; sizes are [width, height]
     * @returns an array of {x, y, w, h, neighbors, score, rankingScore}
     */
    detect(grey, settings = {}) {
      const all = { max_size: null, ...this.settings, ...settings };
      if (!(all.scale_factor > 1 && all.scale_factor < Infinity)) {
        throw new RangeError(`scale_factor ${all.scale_factor} must be above 1; 1.1, for example, is usual`);
      }
      const found = group(this._scan(grey, all), all.min_neighbors);
      const clipped = found.map((box) => {
        const x = Math.max(box.x, 0);
        const y = Math.max(box.y, 0);
        const w = Math.min(box.x + box.w, grey.width) - x;
        return { ...box, x, y, w, h: Math.min(box.y + box.h, grey.height) - y };
      });
      return clipped.filter((box) => box.w > 0 && box.h > 0 && box.rankingScore >= all.min_ranking_score);
    }

    /** Fill the integral images of a picture, with a first row and column of zeros. */
    _integrals(pixels, width, height) {
      const stride = width + 1;
      const size = stride * (height + 1);
      if (!this.total || this.total.length < size) {
        this.total = new Int32Array(size);
        this.squared = new Uint32Array(this.isLbp ? 0 : size);
        this.turned = new Int32Array(this.isTilted ? size : 0);
      }
      const { total, squared, turned } = this;
      total.fill(0, 0, stride);
      for (let y = 0, i = 0; y < height; y++) {
        let at = (y + 1) * stride;
        let running = 0;
        total[at] = 0;
        for (let x = 0; x < width; x++, i++) {
          at++;
          running += pixels[i];
          total[at] = total[at - stride] + running;
        }
      }
      if (!this.isLbp) {
        squared.fill(0, 0, stride);
        for (let y = 0, i = 0; y < height; y++) {
          let at = (y + 1) * stride;
          let running = 0;
          squared[at] = 0;
          for (let x = 0; x < width; x++, i++) {
            at++;
            running += pixels[i] * pixels[i];
            squared[at] = squared[at - stride] + running;
          }
        }
      }
      if (this.isTilted) {
        turned.fill(0, 0, stride + 1);
        for (let x = 1; x <= width; x++) turned[stride + x] = pixels[x - 1];
        for (let y = 2; y <= height; y++) {
          const at = y * stride;
          turned[at] = turned[at - stride + 1];
          for (let x = 1; x <= width; x++) {
            let sum = turned[at - stride + x - 1] + pixels[(y - 1) * width + x - 1] + pixels[(y - 2) * width + x - 1];
            if (x < width) sum += turned[at - stride + x + 1] - turned[at - 2 * stride + x];
            turned[at + x] = sum;
          }
        }
      }
      this._setStride(stride);
    }

    /** Compute where nodes read the integral images, relative to a window's corner. */
    _setStride(stride) {
      if (this.cornersFor === stride) return;
      this.cornersFor = stride;
      const put = (node, first, places) => {
        places.forEach(([x, y], i) => {
          this.corners[node * this.nCorners + first + i] = y * stride + x;
        });
      };
      this.features.forEach((feature, node) => {
        if (this.isLbp) {
          const [x, y, w, h] = feature;
          for (let row = 0; row < 4; row++) {
            put(node, 4 * row, [0, 1, 2, 3].map((column) => [x + column * w, y + row * h]));
          }
          return;
        }
        for (let i = 0; i < 3; i++) {
          const [x, y, w, h] = feature.slice(4 * i, 4 * i + 4);
          const turned = [[x, y], [x - h, y + h], [x + w, y + w], [x + w - h, y + w + h]];
          put(node, 4 * i, this.tilted[node] ? turned : [[x, y], [x + w, y], [x, y + h], [x + w, y + h]]);
        }
      });
      const [right, bottom] = [this.width - 1, this.height - 1];
      this.inner = [stride + 1, stride + right, bottom * stride + 1, bottom * stride + right];
    }

    /** 1 / (area * standard deviation) of a window without its border; 0 if there is too little contrast. */
    _windowScale(base) {
      const [a, b, c, d] = this.inner;
      const { total, squared } = this;
      const area = (this.width - 2) * (this.height - 2);
      const sum = (total[base + a] - total[base + b] - total[base + c] + total[base + d]) | 0;
      const squares = (squared[base + a] - squared[base + b] - squared[base + c] + squared[base + d]) >>> 0;
      const spread = area * squares - sum * sum;
      if (spread <= 0) return 0;
      const scale = f32(1 / Math.sqrt(spread));
      return area * scale < 0.1 ? scale : 0;
    }

    /** Return how many stages the window at `base` passes; `lastSum` is the sum of the last one evaluated. */
    _run(base) {
      const scale = this.isLbp ? 1 : this._windowScale(base);
      this.lastSum = 0;
      if (!(scale > 0)) return -1;
      const nStages = this.thresholds.length;
      for (let stage = 0; stage < nStages; stage++) {
        let sum = 0;
        for (let tree = this.stageStarts[stage]; tree < this.stageStarts[stage + 1]; tree++) {
          const first = this.treeStarts[tree];
          let child = 0;
          let node = first;
          do {
            const goesLeft = this.isLbp ? this._lbpLeft(base, node) : this._haarLeft(base, node, scale);
            child = goesLeft ? this.left[node] : this.right[node];
            node = first + child;
          } while (child > 0);
          sum += this.leaves[first + tree - child];
        }
        this.lastSum = sum;
        if (sum < this.thresholds[stage]) return stage;
      }
      return nStages;
    }

    _haarLeft(base, node, scale) {
      const { corners, weights } = this;
      const plane = this.tilted[node] ? this.turned : this.total;
      let value = 0;
      for (let i = 0; i < 3; i++) {
        const weight = weights[3 * node + i];
        if (weight === 0) continue;
        const at = 12 * node + 4 * i;
        const sum =
          (plane[base + corners[at]] -
            plane[base + corners[at + 1]] -
            plane[base + corners[at + 2]] +
            plane[base + corners[at + 3]]) |
          0;
        value = f32(value + f32(weight * sum));
      }
      return f32(value * scale) < this.nodeThresholds[node];
    }

    _lbpLeft(base, node) {
      const middle = this._cell(base, node, 1, 1);
      let code = 0;
      for (const [column, row] of AROUND) {
        code = 2 * code + (this._cell(base, node, column, row) >= middle ? 1 : 0);
      }
      return ((this.subsets[8 * node + (code >> 5)] >>> (code & 31)) & 1) === 1;
    }

    _cell(base, node, column, row) {
      const at = 16 * node + 4 * row + column;
      const { corners, total } = this;
      return (
        (total[base + corners[at]] -
          total[base + corners[at + 1]] -
          total[base + corners[at + 4]] +
          total[base + corners[at + 5]]) |
        0
      );
    }

    _objectSize(scale) {
      return [rint(f32(this.width * scale)), rint(f32(this.height * scale))];
    }

    /** List the scales between the bounds, or else the one nearest to the minimum size. */
    _scales(width, height, settings) {
      const scales = [];
      let factor = 1;
      while (factor <= width && rint(this.width * factor) <= width && rint(this.height * factor) <= height) {
        scales.push(f32(factor));
        factor *= settings.scale_factor;
      }
      const [leastW, leastH] = settings.min_size || [0, 0];
      const [mostW, mostH] = settings.max_size || [width, height];
      const kept = [];
      for (const scale of scales) {
        const [w, h] = this._objectSize(scale);
        if (w > mostW || h > mostH) break;
        if (w >= leastW && h >= leastH) kept.push(scale);
      }
      if (kept.length || !scales.length) return kept;
      const distances = scales.map((scale) => {
        const [w, h] = this._objectSize(scale);
        return (w - leastW) ** 2 + (h - leastH) ** 2;
      });
      return [scales[distances.indexOf(Math.min(...distances))]];
    }

    /** Return all accepted windows, in the order of scale, row, column. */
    _scan(grey, settings) {
      const boxes = [];
      const nStages = this.thresholds.length;
      let nStripes = 0;
      for (const scale of this._scales(grey.width, grey.height, settings)) {
        const levelW = rint(f32(grey.width / scale));
        const levelH = rint(f32(grey.height / scale));
        const step = scale >= 2 ? 1 : 2;
        const nRows = levelH - this.height + 1;
        const nColumns = levelW - this.width + 1;
        // OpenCV splits the rows into stripes; the last row may be in none of them, and is then skipped.
        nStripes = nStripes || Math.ceil(nColumns / 32);
        if (nRows < 1 || nColumns < 1) continue;
        const stripe = Math.max(Math.floor((Math.floor(nRows / step) + nStripes - 1) / nStripes), 1) * step;
        this._integrals(resize(grey, levelW, levelH), levelW, levelH);
        const [w, h] = this._objectSize(scale);
        for (let y = 0; y < Math.min(stripe * nStripes, nRows); y += step) {
          for (let x = 0; x < nColumns; x += step) {
            const passed = this._run(y * (levelW + 1) + x);
            if (passed === 0) x += step; // as in OpenCV, a window that fails stage 0 skips the next one
            if (passed < nStages) continue;
            const score = this.lastSum - this.thresholds[nStages - 1];
            const rankingScore = Math.sqrt(Math.max(score, 0));
            boxes.push({ x: rint(f32(x * scale)), y: rint(f32(y * scale)), w, h, neighbors: 1, score, rankingScore });
          }
        }
      }
      return boxes;
    }
  }

  /** Columns and rows of the cells around the middle one, from the highest bit of a code to the lowest. */
  const AROUND = [[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [1, 2], [0, 2], [0, 1]];

  /** Return the two source pixels of each new pixel, and the weight of the second in 256ths. */
  function taps(from, to) {
    const [first, second, shares] = [new Int32Array(to), new Int32Array(to), new Int32Array(to)];
    const step = 1 / (to / from);
    for (let i = 0; i < to; i++) {
      const place = step * (i + 0.5) - 0.5;
      const low = Math.floor(place);
      first[i] = Math.min(Math.max(low, 0), from - 1);
      second[i] = Math.min(first[i] + 1, from - 1);
      shares[i] = low < 0 || low >= from - 1 ? 0 : rint((place - low) * 256);
    }
    return [first, second, shares];
  }

  /** Resize with OpenCV's bit-exact bilinear filter. */
  function resize(grey, width, height) {
    const [left, right, sharesX] = taps(grey.width, width);
    const [above, below, sharesY] = taps(grey.height, height);
    const level = new Uint8Array(width * height);
    const { data } = grey;
    for (let y = 0, i = 0; y < height; y++) {
      const [a, b, down] = [above[y] * grey.width, below[y] * grey.width, sharesY[y]];
      for (let x = 0; x < width; x++, i++) {
        const share = sharesX[x];
        const high = data[a + left[x]] * (256 - share) + data[a + right[x]] * share;
        const low = data[b + left[x]] * (256 - share) + data[b + right[x]] * share;
        level[i] = (high * (256 - down) + low * down + 32768) >> 16;
      }
    }
    return level;
  }

  function similar(a, b) {
    const delta = 0.2 * (Math.min(a.w, b.w) + Math.min(a.h, b.h)) * 0.5;
    return (
      Math.abs(a.x - b.x) <= delta &&
      Math.abs(a.y - b.y) <= delta &&
      Math.abs(a.x + a.w - b.x - b.w) <= delta &&
      Math.abs(a.y + a.h - b.y - b.h) <= delta
    );
  }

  /** Average the boxes of each group of similar windows, and drop small groups: OpenCV's groupRectangles. */
  function group(boxes, minNeighbors) {
    if (minNeighbors <= 0) return boxes;
    const seen = new Uint8Array(boxes.length);
    const groups = [];
    for (let i = 0; i < boxes.length; i++) {
      if (seen[i]) continue;
      const members = [i];
      seen[i] = 1;
      for (let k = 0; k < members.length; k++) {
        for (let j = i + 1; j < boxes.length; j++) {
          if (!seen[j] && similar(boxes[members[k]], boxes[j])) {
            seen[j] = 1;
            members.push(j);
          }
        }
      }
      if (members.length <= minNeighbors) continue;
      const all = members.sort((a, b) => a - b).map((j) => boxes[j]);
      const share = f32(1 / all.length);
      const mean = (side) => rint(f32(f32(all.reduce((sum, box) => sum + box[side], 0)) * share));
      groups.push({
        x: mean("x"),
        y: mean("y"),
        w: mean("w"),
        h: mean("h"),
        neighbors: all.length,
        score: all.reduce((best, box) => Math.max(best, box.score), -Infinity),
        rankingScore: all.reduce((sum, box) => sum + box.rankingScore, 0),
      });
    }
    return groups.filter((a) => {
      return !groups.some((b) => {
        if (a === b || !(b.neighbors > Math.max(3, a.neighbors) || a.neighbors < 3)) return false;
        const [dx, dy] = [rint(b.w * 0.2), rint(b.h * 0.2)];
        return (
          a.x >= b.x - dx && a.y >= b.y - dy && a.x + a.w <= b.x + b.w + dx && a.y + a.h <= b.y + b.h + dy
        );
      });
    });
  }

  /** Convert the ImageData of a canvas (RGBA) to grey levels, with OpenCV's weights. */
  function toGrey(image) {
    const { data, width, height } = image;
    const grey = new Uint8Array(width * height);
    for (let i = 0, at = 0; i < grey.length; i++, at += 4) {
      grey[i] = (9798 * data[at] + 19235 * data[at + 1] + 3735 * data[at + 2] + 16384) >> 15;
    }
    return { data: grey, width, height };
  }

  const exported = { MODEL, CascadeDetector, toGrey };
  if (typeof module === "object" && module.exports) module.exports = exported;
  else root.@NAME@ = exported;
})(typeof globalThis === "object" ? globalThis : this);
