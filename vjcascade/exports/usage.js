// @FILE@: an object detector (Viola-Jones cascade) in JavaScript, written by vjcascade. It has no dependencies.
//
// It accepts exactly the windows that OpenCV 4.14 and vjcascade accept, and finds the same boxes.
//
// The model:
@ABOUT@
//
// How to use it, in Node.js or with a bundler:
//
//     const { CascadeDetector, toGrey } = require("./@FILE@");
//
// or in a web page, after <script src="@FILE@">:
//
//     const { CascadeDetector, toGrey } = @NAME@;
//
// and then:
//
//     const detector = new CascadeDetector();          // or new CascadeDetector(model), with the JSON of another model
//     const grey = toGrey(context.getImageData(0, 0, canvas.width, canvas.height));
//     for (const { x, y, w, h } of detector.detect(grey)) context.strokeRect(x, y, w, h);
