/* @FILE@: an object detector (Viola-Jones cascade) in C99, written by vjcascade.
 *
 * It needs the standard library alone, allocates nothing, and keeps no state: several threads may call it, each with a
 * workspace and boxes of its own. It accepts the windows that OpenCV 4.14 and vjcascade accept, to the last one, if float
 * is IEEE 754 binary32, double binary64, and products are not fused with sums: with gcc, -std=c99 or -ffp-contract=off.
 * On a processor whose double is slow or only 32 bits wide, results may differ where a sum lies next to a threshold.
 *
 * The model:
@ABOUT@
 *
@USE@
 *
 *       #include "@FILE@"
 *
 *       static uint32_t workspace[VJ_WORKSPACE(320, 240)];
 *       static vj_box boxes[2000];
 *       int n = vj_detect(grey, 320, 240, 320, NULL, workspace, boxes, 2000);
 *       for (int i = 0; i < n; i++)
 *           printf("%d %d %d %d\n", boxes[i].x, boxes[i].y, boxes[i].w, boxes[i].h);
 *
 * `grey` holds a byte a pixel, row after row; the second 320 is the distance of rows. `boxes` must have room for all windows
 * that are accepted, before they are grouped; n is below 0 if it has not (VJ_FULL). Settings are those of the model where
 * NULL is given; to change them, begin with vj_default_settings().
 */
