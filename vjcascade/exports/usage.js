// @FILE@: an object detector (Viola-Jones cascade) in JavaScript, written by vjcascade. It needs nothing else.
//
// It accepts the windows that OpenCV 4.14 and vjcascade accept, to the last one, and finds the same boxes.
//
// The model:
@ABOUT@
//
// How to use it, under Node or in a bundle:
//
//     const { CascadeDetector, toGrey } = require("./@FILE@");
//
// or in a page, after <script src="@FILE@">:
//
//     const { CascadeDetector, toGrey } = @NAME@;
//
// and then:
//
//     const detector = new CascadeDetector();          // also new CascadeDetector(model), for another model's JSON
//     const grey = toGrey(context.getImageData(0, 0, canvas.width, canvas.height));
//     for (const { x, y, w, h } of detector.detect(grey)) context.strokeRect(x, y, w, h);
