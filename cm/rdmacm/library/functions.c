/* The functions that the core implements. */
#include "wait.h"

#define RDMA_FUNCTION(result_type, name, parameters, arguments)                                    \
    result_type name parameters {                                                                  \
        const int before = irpverbs_enter();                                                       \
        result_type result = irpverbs_##name arguments;                                            \
        irpverbs_leave(before);                                                                    \
        return result;                                                                             \
    }
#define RDMA_PROCEDURE(name, parameters, arguments)                                                \
    void name parameters {                                                                         \
        const int before = irpverbs_enter();                                                       \
        irpverbs_##name arguments;                                                                 \
        irpverbs_leave(before);                                                                    \
    }
#define RDMA_OPERATION(name, parameters, arguments)                                                \
    int name parameters {                                                                          \
        const int before = irpverbs_enter();                                                       \
        const int result = irpverbs_##name arguments;                                              \
        irpverbs_leave(before);                                                                    \
        return result == 0 ? wait_when_synchronous(id) : result;                                   \
    }
#include <rdmacm/functions.def>

void rdma_free_devices(struct ibv_context** list) { free(list); }
