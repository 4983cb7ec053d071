// Tests the JavaScript export: evaluates windows and searches a picture, from standard input to standard output.
const fs = require("fs");
const { CascadeDetector } = require("./model.js");

const data = fs.readFileSync(0);
const [nWindows, width, height] = [0, 4, 8].map((at) => data.readInt32LE(at));
const detector = new CascadeDetector();
const size = detector.width * detector.height;
const answers = [];
for (let i = 0; i < nWindows; i++) {
  answers.push(detector.judge(data.subarray(12 + i * size, 12 + (i + 1) * size)));
}
const picture = { data: data.subarray(12 + nWindows * size), width, height };
for (const settings of [{ min_neighbors: 0 }, {}]) {
  const boxes = detector.detect(picture, settings);
  answers.push(boxes.length);
  for (const { x, y, w, h } of boxes) answers.push(x, y, w, h);
}
fs.writeFileSync(1, Buffer.from(new Int32Array(answers).buffer));
