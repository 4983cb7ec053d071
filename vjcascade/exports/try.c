/* Tests the C export: evaluates windows and searches a picture, from standard input to standard output. */
#include <stdio.h>
#include <stdlib.h>
#include "model.h"

#define MAX_BOXES 1000000

static void put(int32_t value)
{
    if (fwrite(&value, sizeof value, 1, stdout) != 1)
        exit(3);
}

static void get(void *data, size_t size)
{
    if (fread(data, 1, size, stdin) != size)
        exit(4);
}

static void put_boxes(const vj_box *boxes, int n)
{
    int i;
    put(n);
    for (i = 0; i < n; i++) {
        put(boxes[i].x);
        put(boxes[i].y);
        put(boxes[i].w);
        put(boxes[i].h);
    }
}

int main(void)
{
    static uint8_t window[VJ_WIDTH * VJ_HEIGHT];
    static uint32_t small[VJ_WINDOW_WORKSPACE];
    vj_settings settings = vj_default_settings();
    int32_t head[3], i;
    uint8_t *picture;
    uint32_t *workspace;
    vj_box *boxes = malloc(MAX_BOXES * sizeof *boxes);
    int n;
    get(head, sizeof head);
    for (i = 0; i < head[0]; i++) {
        get(window, sizeof window);
        put(vj_judge(window, VJ_WIDTH, small));
    }
    picture = malloc((size_t)head[1] * (size_t)head[2]);
    workspace = malloc(VJ_WORKSPACE(head[1], head[2]) * sizeof *workspace);
    if (!picture || !workspace || !boxes)
        return 5;
    get(picture, (size_t)head[1] * (size_t)head[2]);
    settings.min_neighbors = 0;
    n = vj_detect(picture, head[1], head[2], (size_t)head[1], &settings, workspace, boxes, MAX_BOXES);
    if (n < 0)
        return 6;
    put_boxes(boxes, n);
    n = vj_detect(picture, head[1], head[2], (size_t)head[1], NULL, workspace, boxes, MAX_BOXES);
    if (n < 0)
        return 7;
    put_boxes(boxes, n);
    free(picture);
    free(workspace);
    free(boxes);
    return 0;
}
