// Entries for a completion queue: a queue pair of libibverbs, that sends to its own port.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace irpverbs::testing {

/// Unreliable datagrams, which nobody receives: each is a completion.
class queue_pair {
public:
    static constexpr unsigned depth = 64; // sends that it takes

    explicit queue_pair(ibv_cq* told);
    ~queue_pair();
    queue_pair(const queue_pair&) = delete;
    queue_pair& operator=(const queue_pair&) = delete;

    void send(std::uint64_t id);
    std::uint32_t number() const { return pair_->qp_num; }

private:
    void make_ready();

    ibv_pd* domain_;
    ibv_qp* pair_;
    ibv_ah* own_port_;
};

} // namespace irpverbs::testing
