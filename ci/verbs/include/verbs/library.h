/* The border between libibverbs.so.1 and the core: the functions that the library calls. Each is
   that of libibverbs with the same name behind irpverbs_, whose manual page holds for it. */
#ifndef IRPVERBS_VERBS_LIBRARY_H
#define IRPVERBS_VERBS_LIBRARY_H

#include <drop_in/border.h>

#include <infiniband/verbs.h>

/* The header has inline functions in front of these; the library defines the functions. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

NT_EXTERN_C_BEGIN

#define IBV_FUNCTION(result, name, parameters, arguments)                                          \
    IRPVERBS_BORDER result irpverbs_##name parameters;
#define IBV_PROCEDURE(name, parameters, arguments) IRPVERBS_BORDER void irpverbs_##name parameters;
#include <verbs/functions.def>

/* Take the next event, after the library has read the descriptor, and return 1. 0: there is none,
   since an object with events was destroyed at that moment. -1: none will come, errno EIO: the HCA
   has failed, and the program has taken all events. */
IRPVERBS_BORDER int irpverbs_ibv_take_cq_event(struct ibv_comp_channel* channel,
                                               struct ibv_cq** cq);
IRPVERBS_BORDER int irpverbs_ibv_take_async_event(struct ibv_context* context,
                                                  struct ibv_async_event* event);

NT_EXTERN_C_END

#endif
