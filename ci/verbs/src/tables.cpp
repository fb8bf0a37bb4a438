// The tables of functions that the inline functions of the header call.
#include "attributes.hpp"
#include "completion_queue.hpp"
#include "device_memory.hpp"
#include "domains.hpp"
#include "memory.hpp"
#include "memory_window.hpp"
#include "open_device.hpp"
#include "posts.hpp"
#include "queue_pair.hpp"
#include "shared_receive_queue.hpp"
#include "xrc_domain.hpp"

namespace irpverbs::verbs {

// Programs of rdma-core 44 look for a function by its distance from the end of the structure. Later
// releases put new functions in front.
static_assert(sizeof(verbs_context) == 648);

void fill_tables(open_device& made) {
    made.sz = sizeof(verbs_context);
    made.shown()->abi_compat = __VERBS_ABI_IS_EXTENDED;
    made.query_port = query_port;
    made.query_device_ex = query_device_ex;
    made.create_cq_ex = create_cq_ex;
    made.create_qp_ex = create_qp_ex;
    made.create_srq_ex = create_srq_ex;
    made.get_srq_num = srq_number;
    made.open_xrcd = open_xrc_domain;
    made.close_xrcd = close_xrc_domain;
    made.advise_mr = advise_mr;
    made.alloc_dm = allocate_memory;
    made.free_dm = free_memory;
    made.reg_dm_mr = register_memory;
    made.alloc_td = allocate_thread_domain;
    made.dealloc_td = deallocate_thread_domain;
    made.alloc_parent_domain = allocate_parent_domain;
    ibv_context_ops& called = made.shown()->ops;
    called.alloc_mw = allocate_window;
    called.dealloc_mw = deallocate_window;
    called.bind_mw = bind_window;
    called.poll_cq = poll_cq;
    called.req_notify_cq = request_notification;
    called.post_send = post_send;
    called.post_recv = post_recv;
    called.post_srq_recv = post_srq_recv;
}

} // namespace irpverbs::verbs
