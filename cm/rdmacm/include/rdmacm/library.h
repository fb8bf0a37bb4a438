/* The border between librdmacm.so.1 and the core: the functions that the library calls. Each is
   that of librdmacm with the same name behind irpverbs_, whose manual page holds for it. */
#ifndef IRPVERBS_RDMACM_LIBRARY_H
#define IRPVERBS_RDMACM_LIBRARY_H

#include <drop_in/border.h>

#include <rdma/rdma_cma.h>

NT_EXTERN_C_BEGIN

#define RDMA_FUNCTION(result, name, parameters, arguments)                                         \
    IRPVERBS_BORDER result irpverbs_##name parameters;
#define RDMA_PROCEDURE(name, parameters, arguments) IRPVERBS_BORDER void irpverbs_##name parameters;
#define RDMA_OPERATION(name, parameters, arguments) IRPVERBS_BORDER int irpverbs_##name parameters;
#include <rdmacm/functions.def>

/* Takes the next event, after the library has read the channel's descriptor, and returns 1. Returns
   0 if there is none: an id with events was destroyed at that moment. Returns -1 and sets errno to
   EIO if there is none and all devices are gone. */
IRPVERBS_BORDER int irpverbs_rdma_take_event(struct rdma_event_channel* channel,
                                             struct rdma_cm_event** event);

/* Whether the library waits for the ends of the id's operations: it was created without a channel.
 */
IRPVERBS_BORDER BOOLEAN irpverbs_rdma_is_synchronous(struct rdma_cm_id* id);

/* An id of that type of queue pair, which rdma_create_id derives from the port space. */
IRPVERBS_BORDER int irpverbs_rdma_create_typed_id(struct rdma_event_channel* channel,
                                                  struct rdma_cm_id** id, void* context,
                                                  enum rdma_port_space ps, enum ibv_qp_type type);

/* Keeps the attributes of the queue pairs of requests, for rdma_get_request. */
IRPVERBS_BORDER int irpverbs_rdma_keep_qp_attributes(struct rdma_cm_id* id, struct ibv_pd* pd,
                                                     const struct ibv_qp_init_attr* attr);

/* Makes the id of a request that `listener` has received synchronous, with a queue pair if
   attributes were kept. */
IRPVERBS_BORDER int irpverbs_rdma_adopt_request(struct rdma_cm_id* listener, struct rdma_cm_id* id);

NT_EXTERN_C_END

#endif
