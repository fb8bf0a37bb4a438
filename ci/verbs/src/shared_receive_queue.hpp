// Shared receive queues.
#pragma once

#include "async_events.hpp"
#include <verbs/library.h>

#include <ci/ci.h>

namespace irpverbs::verbs {

struct shared_receive_queue : ibv_srq {
    IB_SRQ* srq = nullptr;
    async_sources<10> events; // from IB_AE_PATH_MIGRATED

    static shared_receive_queue& of(ibv_srq* shown) {
        return *static_cast<shared_receive_queue*>(shown);
    }
};

ibv_srq* create_srq_ex(ibv_context* of, ibv_srq_init_attr_ex* attr);
int srq_number(ibv_srq* srq, std::uint32_t* number);

} // namespace irpverbs::verbs
