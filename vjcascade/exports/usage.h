/* @FILE@: an object detector (Viola-Jones cascade) in C99, written by vjcascade.
 *
 * It needs only the standard library, allocates no memory, and keeps no state: several threads may call it, each with its
 * own workspace and boxes. It accepts exactly the windows that OpenCV 4.14 and vjcascade accept, if float is IEEE 754
 * binary32, double is binary64, and the compiler fuses no multiply-adds: with gcc, use -std=c99 or -ffp-contract=off.
 * If double has only 32 bits, results may differ where a sum is very close to a threshold.
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
 * `grey` has one byte per pixel, row by row; the second 320 is the row stride in bytes. `boxes` needs room for all accepted
 * windows before grouping; if it is too small, n is negative (VJ_FULL). NULL stands for the model's settings; to change
 * them, start from vj_default_settings().
 */
