/* Windows of a convolution: each pixel of a result is made of the pixels of an image that its window's taps lie on.
 *
 * Of n images, along each spatial dim, pixel p of the result has its taps at pixels
 *     p * step - before + tap * dilation,    0 <= tap < taps,
 * of the image. Those outside of it are zeros. There are as many p as windows fit into the image with `before` and
 * `after` pixels of zeros around it (window_pixels). Pixels of the result are numbered as its memory has them: images
 * outermost, the last spatial dim varying fastest.
 */
#ifndef TW_GEN_SPEC_WINDOW_H
#define TW_GEN_SPEC_WINDOW_H

#include <stdint.h>

enum { WINDOW_DIMS = 3 };

/* Entries of the arrays are spatial dims in memory order: W alone, H W, D H W. */
struct spec_window {
    int dims; /* 1 to 3; 0: there are no windows */
    int taps[WINDOW_DIMS], step[WINDOW_DIMS], dilation[WINDOW_DIMS], before[WINDOW_DIMS], after[WINDOW_DIMS];
};

/* Pixels of the image along spatial dim i behind the first of a window, up to its last tap. */
static inline int window_reach(const struct spec_window *w, int i)
{
    return w->dilation[i] * (w->taps[i] - 1);
}

/* What pixels of the result along spatial dim i are reckoned from: (extent + window_room) / step, rounded down, + 1. */
static inline int window_room(const struct spec_window *w, int i)
{
    return w->before[i] + w->after[i] - window_reach(w, i) - 1;
}

/* Pixels of the result along spatial dim i of an image of so many; 0 where no window fits. */
static inline int64_t window_pixels(const struct spec_window *w, int i, int64_t extent)
{
    const int64_t room = extent + window_room(w, i);
    return room < 0 ? 0 : room / w->step[i] + 1;
}

#endif
