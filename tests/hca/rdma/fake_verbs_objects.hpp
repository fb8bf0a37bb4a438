// The objects that the fake kernel creates for a driver.
#pragma once

#include "fake_verbs.hpp"

namespace irpverbs::testing {

struct fake_verbs::channel : ibv_comp_channel {
    std::deque<queue*> events;
};

struct fake_verbs::context : ibv_context {
    fake_verbs::device* of = nullptr;
    std::deque<ibv_async_event> events;
};

struct fake_verbs::queue : ibv_cq {
    std::deque<ibv_wc> entries;
    bool armed = false;
    bool solicited_only = false;
    unsigned completions_reported = 0;
    unsigned errors_reported = 0;
};

struct fake_verbs::domain : ibv_pd {
    std::size_t users = 0; // regions, handles and queue pairs
};

struct fake_verbs::pair : ibv_qp {
    ibv_qp_attr attr{};
    ibv_qp_cap cap{};
    unsigned events_reported = 0;
};

struct fake_verbs::shared : ibv_srq {
    ibv_srq_attr attr{};
    unsigned events_reported = 0;
};

} // namespace irpverbs::testing
