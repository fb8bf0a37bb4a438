// Queue pairs.
#pragma once

#include "async_events.hpp"
#include "work_request_builder.hpp"
#include <verbs/library.h>

#include <ci/ci.h>

#include <memory>
#include <mutex>
#include <vector>

namespace irpverbs::verbs {

struct queue_pair : ibv_qp_ex {
    IB_QP* qp = nullptr;
    async_sources<IB_AE_RECEIVE_WQ_FATAL> events;  // from IB_AE_PATH_MIGRATED
    std::unique_ptr<work_request_builder> builder; // of an extended queue pair
    bool signals_all = false;
    std::mutex groups_lock;
    std::vector<IB_MCAST*> groups; // guarded by groups_lock

    static queue_pair& of(ibv_qp* shown) {
        return *static_cast<queue_pair*>(reinterpret_cast<ibv_qp_ex*>(shown));
    }
    static queue_pair& of(ibv_qp_ex* shown) { return *static_cast<queue_pair*>(shown); }
};

ibv_qp* create_qp_ex(ibv_context* of, ibv_qp_init_attr_ex* attr);

/// Sets the functions of ibv_wr_*.
void fill_table(ibv_qp_ex& made);

} // namespace irpverbs::verbs
