#ifndef VJ_INCLUDED
#define VJ_INCLUDED

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Declares functions: static in a header, external in a .c file. */
#ifndef VJ_API
#define VJ_API @API@
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF /* a fused multiply-add would round once where OpenCV rounds twice */
#endif

@MODEL@

#define VJ_PLANES (VJ_LBP ? 1 : 2 + VJ_TILTED)

/* Items of uint32_t in the workspace of vj_judge, and of vj_scan and vj_detect for a picture of w by h pixels. */
#define VJ_WINDOW_WORKSPACE (VJ_PLANES * (VJ_WIDTH + 1) * (VJ_HEIGHT + 1))
#define VJ_WORKSPACE(w, h) \
    (VJ_PLANES * ((size_t)(w) + 1) * ((size_t)(h) + 1) + ((size_t)(w) * (size_t)(h) + 3) / 4 + 2 * (size_t)(w))

#define VJ_FULL (-1)         /* more windows were accepted than boxes has room for */
#define VJ_BAD_SETTINGS (-2) /* the scale factor is not above 1, or a minimum size is negative */

typedef struct {
    double scale_factor;       /* ratio of neighbouring scales, > 1 */
    int min_neighbors;         /* an object needs more windows than this; 0 returns all windows */
    int min_width, min_height; /* smallest object in pixels */
    int max_width, max_height; /* largest object in pixels; 0 for the picture's size */
    double min_ranking_score;  /* minimum ranking score of an object; 0 keeps all */
} vj_settings;

typedef struct {
    int x, y, w, h;       /* in pixels, from the top left corner */
    int neighbors;        /* windows in the group */
    int group;            /* internal to vj_group */
    double score;         /* the last stage's sum minus its threshold; of a group, the maximum */
    double ranking_score; /* sum of the square roots of the scores of all windows in the group */
} vj_box;

/* The settings that the model was exported with. */
VJ_API vj_settings vj_default_settings(void);

/* Returns how many stages a window of VJ_WIDTH by VJ_HEIGHT pixels passes: VJ_STAGES if it is accepted, -1 if it has too
 * little contrast. `stride` is the distance between rows in bytes, `workspace` has VJ_WINDOW_WORKSPACE items. */
VJ_API int vj_judge(const uint8_t *pixels, size_t stride, uint32_t *workspace);

/* Writes all accepted windows of a picture to boxes; returns their number, VJ_FULL or VJ_BAD_SETTINGS. */
VJ_API int vj_scan(const uint8_t *grey, int width, int height, size_t stride, const vj_settings *settings,
                   uint32_t *workspace, vj_box *boxes, int max_boxes);

/* Groups windows in place, as OpenCV's groupRectangles does; returns the number of groups. */
VJ_API int vj_group(vj_box *boxes, int n_boxes, int min_neighbors);

/* Finds objects: scans, groups, and clips boxes to the picture. Returns their number, VJ_FULL or VJ_BAD_SETTINGS. */
VJ_API int vj_detect(const uint8_t *grey, int width, int height, size_t stride, const vj_settings *settings,
                     uint32_t *workspace, vj_box *boxes, int max_boxes);

/* ---------------------------------------------------------------------------------------------------- windows */

/* Integral images with a first row and column of zeros; sums may wrap, but differences within a window are exact. */
static void vj_integrals(const uint8_t *grey, int width, int height, size_t stride, uint32_t *planes)
{
    const size_t row = (size_t)width + 1, plane = row * ((size_t)height + 1);
    uint32_t *sum = planes;
    int x, y;
    for (x = 0; x <= width; x++)
        sum[x] = 0;
    for (y = 0; y < height; y++) {
        const uint8_t *pixels = grey + (size_t)y * stride;
        const uint32_t *above = sum + (size_t)y * row;
        uint32_t *here = sum + ((size_t)y + 1) * row, running = 0;
        here[0] = 0;
        for (x = 0; x < width; x++) {
            running += pixels[x];
            here[x + 1] = above[x + 1] + running;
        }
    }
#if !VJ_LBP
    {
        uint32_t *squared = planes + plane;
        for (x = 0; x <= width; x++)
            squared[x] = 0;
        for (y = 0; y < height; y++) {
            const uint8_t *pixels = grey + (size_t)y * stride;
            const uint32_t *above = squared + (size_t)y * row;
            uint32_t *here = squared + ((size_t)y + 1) * row, running = 0;
            here[0] = 0;
            for (x = 0; x < width; x++) {
                running += (uint32_t)pixels[x] * pixels[x];
                here[x + 1] = above[x + 1] + running;
            }
        }
    }
#endif
#if VJ_TILTED
    {
        uint32_t *tilted = planes + 2 * plane;
        for (x = 0; x <= width; x++)
            tilted[x] = 0;
        tilted[row] = 0;
        for (x = 1; x <= width; x++)
            tilted[row + (size_t)x] = grey[x - 1];
        for (y = 2; y <= height; y++) {
            const uint8_t *pixels = grey + (size_t)(y - 1) * stride, *before = pixels - stride;
            const uint32_t *above = tilted + (size_t)(y - 1) * row, *second = above - row;
            uint32_t *here = tilted + (size_t)y * row;
            here[0] = above[1];
            for (x = 1; x <= width; x++) {
                here[x] = above[x - 1] + pixels[x - 1] + before[x - 1];
                if (x < width)
                    here[x] += above[x + 1] - second[x];
            }
        }
    }
#endif
    (void)plane;
}

static uint32_t vj_rectangle(const uint32_t *sum, size_t row, int x, int y, int w, int h)
{
    const uint32_t *a = sum + (size_t)y * row + (size_t)x, *b = a + (size_t)h * row;
    return a[0] - a[w] - b[0] + b[w];
}

#if VJ_TILTED
/* The sum over a rectangle rotated by 45 degrees: its sides run down-right (w) and down-left (h). */
static uint32_t vj_tilted_rectangle(const uint32_t *tilted, size_t row, int x, int y, int w, int h)
{
    const uint32_t *a = tilted + (size_t)y * row + (size_t)x;
    const size_t left = (size_t)h * row - (size_t)h, right = (size_t)w * row + (size_t)w;
    return a[0] - a[left] - a[right] + a[left + right];
}
#endif

/* Whether a node sends a window to its left child; `window` is the window's corner in the integral image. */
static int vj_goes_left(const uint32_t *window, size_t row, size_t plane, float scale, size_t node)
{
#if VJ_LBP
    static const uint8_t around[8][2] = {{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
    const vj_place *cell = vj_cells[vj_node_features[node]];
    const int x = cell[0], y = cell[1], w = cell[2], h = cell[3];
    const uint32_t middle = vj_rectangle(window, row, x + w, y + h, w, h);
    unsigned code = 0;
    int i;
    for (i = 0; i < 8; i++)
        code = 2 * code + (vj_rectangle(window, row, x + around[i][0] * w, y + around[i][1] * h, w, h) >= middle);
    (void)plane;
    (void)scale;
    return (int)(vj_node_subsets[node][code >> 5] >> (code & 31) & 1);
#else
    const vj_place *rect = vj_rects[vj_node_features[node]];
    const float *weight = vj_weights[vj_feature_weights[vj_node_features[node]]];
    float value = 0;
    int i;
    for (i = 0; i < 3; i++, rect += 4) {
        uint32_t total;
        float part;
        if (weight[i] == 0)
            continue;
#if VJ_TILTED
        if (vj_tilted[vj_node_features[node]])
            total = vj_tilted_rectangle(window + 2 * plane, row, rect[0], rect[1], rect[2], rect[3]);
        else
#endif
            total = vj_rectangle(window, row, rect[0], rect[1], rect[2], rect[3]);
        part = (float)(weight[i] * (float)total);
        value = (float)(value + part);
    }
    (void)plane;
    value = (float)(value * scale);
    return value < vj_node_thresholds[node];
#endif
}

/* 1 / (area * standard deviation) of a window without its border; 0 if that deviation is at most 10 grey levels. */
static float vj_window_scale(const uint32_t *window, size_t row, size_t plane)
{
#if VJ_LBP
    (void)window;
    (void)row;
    (void)plane;
    return 1;
#else
    const double area = (double)(VJ_WIDTH - 2) * (VJ_HEIGHT - 2);
    const double total = vj_rectangle(window, row, 1, 1, VJ_WIDTH - 2, VJ_HEIGHT - 2);
    const double squares = vj_rectangle(window + plane, row, 1, 1, VJ_WIDTH - 2, VJ_HEIGHT - 2);
    const double spread = area * squares - total * total;
    double root;
    float scale;
    if (spread <= 0)
        return 0;
    root = 1.0 / sqrt(spread);
    scale = (float)root;
    return area * (double)scale < 0.1 ? scale : 0;
#endif
}

/* Returns the number of stages passed, -1 if the contrast is too low; sets `last` to the sum of the last stage evaluated. */
static int vj_run(const uint32_t *window, size_t row, size_t plane, double *last)
{
    const float scale = vj_window_scale(window, row, plane);
    int stage;
    *last = 0;
    if (!(scale > 0))
        return -1;
    for (stage = 0; stage < VJ_STAGES; stage++) {
        double total = 0;
        size_t tree;
        for (tree = vj_stage_starts[stage]; tree < vj_stage_starts[stage + 1]; tree++) {
#if VJ_TREES
            const size_t first = vj_tree_starts[tree];
            size_t node = first;
            int32_t child;
            while ((child = vj_children[node][!vj_goes_left(window, row, plane, scale, node)]) > 0)
                node = first + (size_t)child;
            total += vj_leaves[first + tree + (size_t)-child];
#else
            total += vj_leaves[2 * tree + !vj_goes_left(window, row, plane, scale, tree)];
#endif
        }
        *last = total;
        if (total < vj_stage_thresholds[stage])
            return stage;
    }
    return VJ_STAGES;
}

VJ_API int vj_judge(const uint8_t *pixels, size_t stride, uint32_t *workspace)
{
    double last;
    vj_integrals(pixels, VJ_WIDTH, VJ_HEIGHT, stride, workspace);
    return vj_run(workspace, VJ_WIDTH + 1, (size_t)(VJ_WIDTH + 1) * (VJ_HEIGHT + 1), &last);
}

/* --------------------------------------------------------------------------------------------------- pictures */

/* The two source pixels of a new pixel, and the weight of the second in 256ths. */
static void vj_taps(int from, int to, int place, int *first, int *second, uint32_t *share)
{
    const double step = 1.0 / ((double)to / from), at = step * (place + 0.5) - 0.5, whole = floor(at);
    *share = (uint32_t)rint((at - whole) * 256);
    *first = (int)whole;
    if (*first < 0) {
        *first = 0;
        *share = 0;
    }
    if (*first >= from - 1) {
        *first = from - 1;
        *share = 0;
    }
    *second = *first + 1 < from ? *first + 1 : *first;
}

/* OpenCV's bit-exact bilinear filter. */
static void vj_resize(const uint8_t *grey, int width, int height, size_t stride, uint8_t *level, int level_w,
                      int level_h, uint32_t *places)
{
    uint32_t *shares = places + level_w;
    int x, y, first, second;
    for (x = 0; x < level_w; x++) {
        vj_taps(width, level_w, x, &first, &second, &shares[x]);
        places[x] = (uint32_t)first;
    }
    for (y = 0; y < level_h; y++) {
        const uint8_t *above, *below;
        uint32_t share;
        vj_taps(height, level_h, y, &first, &second, &share);
        above = grey + (size_t)first * stride;
        below = grey + (size_t)second * stride;
        for (x = 0; x < level_w; x++) {
            const uint32_t left = places[x], right = left + (left + 1 < (uint32_t)width), s = shares[x];
            const uint32_t high = above[left] * (256 - s) + above[right] * s;
            const uint32_t low = below[left] * (256 - s) + below[right] * s;
            level[(size_t)y * (size_t)level_w + (size_t)x] =
                (uint8_t)((high * (256 - share) + low * share + 32768) >> 16);
        }
    }
}

static int vj_scaled(int length, float scale)
{
    const float product = (float)((float)length * scale);
    return (int)rint(product);
}

static int vj_shrunk(int length, float scale)
{
    const float quotient = (float)((float)length / scale);
    return (int)rint(quotient);
}

/* The first and last scale, as powers of the scale factor: those between the bounds, or else the one nearest to the minimum
 * size. Returns 0 if the window does not fit into the picture. */
static int vj_bounds(int width, int height, const vj_settings *settings, int *first, int *last)
{
    const int max_w = settings->max_width > 0 && settings->max_height > 0 ? settings->max_width : width;
    const int max_h = settings->max_width > 0 && settings->max_height > 0 ? settings->max_height : height;
    double factor = 1, least = -1;
    int i, nearest = 0, ended = 0;
    *first = *last = -1;
    for (i = 0; factor <= width && rint(VJ_WIDTH * factor) <= width && rint(VJ_HEIGHT * factor) <= height; i++) {
        const int w = vj_scaled(VJ_WIDTH, (float)factor), h = vj_scaled(VJ_HEIGHT, (float)factor);
        const double dx = (double)w - settings->min_width, dy = (double)h - settings->min_height;
        if (least < 0 || dx * dx + dy * dy < least) {
            least = dx * dx + dy * dy;
            nearest = i;
        }
        ended = ended || w > max_w || h > max_h;
        if (!ended && w >= settings->min_width && h >= settings->min_height) {
            if (*first < 0)
                *first = i;
            *last = i;
        }
        factor *= settings->scale_factor;
    }
    if (*first < 0 && i > 0)
        *first = *last = nearest;
    return *first >= 0;
}

VJ_API vj_settings vj_default_settings(void)
{
    const vj_settings settings = {@SETTINGS@};
    return settings;
}

VJ_API int vj_scan(const uint8_t *grey, int width, int height, size_t stride, const vj_settings *settings,
                   uint32_t *workspace, vj_box *boxes, int max_boxes)
{
    const vj_settings defaults = vj_default_settings();
    const size_t most = (size_t)VJ_PLANES * ((size_t)width + 1) * ((size_t)height + 1);
    uint32_t *places = workspace + most;
    uint8_t *level = (uint8_t *)(places + 2 * (size_t)width);
    int first, last, i, n_stripes = 0, n = 0;
    double factor = 1;
    if (!settings)
        settings = &defaults;
    if (!(settings->scale_factor > 1) || settings->min_width < 0 || settings->min_height < 0)
        return VJ_BAD_SETTINGS;
    if (!vj_bounds(width, height, settings, &first, &last))
        return 0;
    for (i = 0; i <= last; i++, factor *= settings->scale_factor) {
        const float scale = (float)factor;
        const int step = scale >= 2 ? 1 : 2;
        const int level_w = vj_shrunk(width, scale), level_h = vj_shrunk(height, scale);
        const int n_rows = level_h - VJ_HEIGHT + 1, n_columns = level_w - VJ_WIDTH + 1;
        const size_t row = (size_t)level_w + 1, plane = row * ((size_t)level_h + 1);
        int x, y, stripe, end;
        if (i < first)
            continue;
        if (n_stripes == 0) /* OpenCV splits the rows into stripes; the last row may be in none, and is then skipped */
            n_stripes = (n_columns + 31) / 32;
        if (n_rows < 1 || n_columns < 1 || n_stripes < 1)
            continue;
        stripe = (n_rows / step + n_stripes - 1) / n_stripes;
        end = (stripe > 1 ? stripe : 1) * step * n_stripes;
        vj_resize(grey, width, height, stride, level, level_w, level_h, places);
        vj_integrals(level, level_w, level_h, (size_t)level_w, workspace);
        for (y = 0; y < n_rows && y < end; y += step) {
            for (x = 0; x < n_columns; x += step) {
                double sum, score;
                const int passed = vj_run(workspace + (size_t)y * row + (size_t)x, row, plane, &sum);
                if (passed == 0)
                    x += step; /* as in OpenCV, a window that fails stage 0 skips the next one */
                if (passed < VJ_STAGES)
                    continue;
                if (n >= max_boxes)
                    return VJ_FULL;
                score = sum - vj_stage_thresholds[VJ_STAGES - 1];
                boxes[n].x = vj_scaled(x, scale);
                boxes[n].y = vj_scaled(y, scale);
                boxes[n].w = vj_scaled(VJ_WIDTH, scale);
                boxes[n].h = vj_scaled(VJ_HEIGHT, scale);
                boxes[n].neighbors = 1;
                boxes[n].score = score;
                boxes[n].ranking_score = sqrt(score > 0 ? score : 0);
                n++;
            }
        }
    }
    return n;
}

static int vj_similar(const vj_box *a, const vj_box *b)
{
    const double smaller = (double)(a->w < b->w ? a->w : b->w) + (a->h < b->h ? a->h : b->h);
    const double delta = 0.2 * smaller * 0.5;
    return fabs((double)a->x - b->x) <= delta && fabs((double)a->y - b->y) <= delta &&
           fabs((double)a->x + a->w - b->x - b->w) <= delta && fabs((double)a->y + a->h - b->y - b->h) <= delta;
}

static int vj_mean(int64_t total, int count)
{
    const float share = 1.0f / (float)count, mean = (float)((float)total * share);
    return (int)rint(mean);
}

static int vj_is_inside(const vj_box *a, const vj_box *b)
{
    const int dx = (int)rint(b->w * 0.2), dy = (int)rint(b->h * 0.2);
    return a->x >= b->x - dx && a->y >= b->y - dy && a->x + a->w <= b->x + b->w + dx && a->y + a->h <= b->y + b->h + dy &&
           (b->neighbors > (a->neighbors > 3 ? a->neighbors : 3) || a->neighbors < 3);
}

VJ_API int vj_group(vj_box *boxes, int n_boxes, int min_neighbors)
{
    int i, j, n = 0, n_kept = 0;
    if (min_neighbors <= 0)
        return n_boxes;
    for (i = 0; i < n_boxes; i++) { /* group: the first box of the class that a chain of similar boxes connects */
        boxes[i].group = i;
        for (j = 0; j < i; j++) {
            int a = j, b = i;
            if (!vj_similar(&boxes[j], &boxes[i]))
                continue;
            while (boxes[a].group != a)
                a = boxes[a].group = boxes[boxes[a].group].group;
            while (boxes[b].group != b)
                b = boxes[b].group = boxes[boxes[b].group].group;
            if (a < b)
                boxes[b].group = a;
            else
                boxes[a].group = b;
        }
    }
    for (i = 0; i < n_boxes; i++) /* the groups of boxes before this one are final */
        boxes[i].group = boxes[boxes[i].group].group;
    for (i = 0; i < n_boxes; i++) {
        int64_t x = 0, y = 0, w = 0, h = 0;
        vj_box mean = boxes[i];
        if (boxes[i].group != i)
            continue;
        mean.neighbors = 0;
        mean.ranking_score = 0;
        for (j = i; j < n_boxes; j++) {
            if (boxes[j].group != i)
                continue;
            x += boxes[j].x;
            y += boxes[j].y;
            w += boxes[j].w;
            h += boxes[j].h;
            mean.neighbors += boxes[j].neighbors;
            mean.ranking_score += boxes[j].ranking_score;
            mean.score = boxes[j].score > mean.score ? boxes[j].score : mean.score;
        }
        if (mean.neighbors <= min_neighbors)
            continue;
        mean.x = vj_mean(x, mean.neighbors);
        mean.y = vj_mean(y, mean.neighbors);
        mean.w = vj_mean(w, mean.neighbors);
        mean.h = vj_mean(h, mean.neighbors);
        mean.group = -1; /* the box overwritten here is in this group or an earlier one, which is finished */
        boxes[n++] = mean;
    }
    for (i = 0; i < n; i++) { /* mark groups that lie inside a larger group of more windows, then drop them */
        boxes[i].group = 1;
        for (j = 0; j < n; j++)
            if (j != i && vj_is_inside(&boxes[i], &boxes[j]))
                boxes[i].group = 0;
    }
    for (i = 0; i < n; i++)
        if (boxes[i].group)
            boxes[n_kept++] = boxes[i];
    return n_kept;
}

VJ_API int vj_detect(const uint8_t *grey, int width, int height, size_t stride, const vj_settings *settings,
                     uint32_t *workspace, vj_box *boxes, int max_boxes)
{
    const vj_settings defaults = vj_default_settings();
    int i, n, n_kept = 0;
    if (!settings)
        settings = &defaults;
    n = vj_scan(grey, width, height, stride, settings, workspace, boxes, max_boxes);
    if (n < 0)
        return n;
    n = vj_group(boxes, n, settings->min_neighbors);
    for (i = 0; i < n; i++) {
        vj_box box = boxes[i];
        const int left = box.x > 0 ? box.x : 0, top = box.y > 0 ? box.y : 0;
        const int right = box.x + box.w < width ? box.x + box.w : width;
        const int bottom = box.y + box.h < height ? box.y + box.h : height;
        if (right <= left || bottom <= top || box.ranking_score < settings->min_ranking_score)
            continue;
        box.x = left;
        box.y = top;
        box.w = right - left;
        box.h = bottom - top;
        boxes[n_kept++] = box;
    }
    return n_kept;
}

#endif
