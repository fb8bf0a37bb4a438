/* The border between a drop-in library and the core that all drop-in libraries share. A drop-in
   library is C: it checks what its interface checks, and calls functions of the core.
   docs/decisions/drop-in.md. */
#ifndef IRPVERBS_DROP_IN_BORDER_H
#define IRPVERBS_DROP_IN_BORDER_H

#include <dispatch/ntdef.h>

#include <pthread.h>

/* Marks a function of the core that drop-in libraries call. Its name begins with irpverbs_, and no
   exception leaves it. */
#define IRPVERBS_BORDER NT_API

/* The calls of the core stand between these two, on the stack of the program's thread: a program
   may cancel its threads, and C++ frames must not be unwound by that. Waits happen outside, in
   poll(2). */
static inline int irpverbs_enter(void) {
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}
static inline void irpverbs_leave(int before) { pthread_setcancelstate(before, &before); }

#endif
