// A queue pair of libibverbs that sends to its own port and so fills a completion queue.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace irpverbs::testing {

/// Sends unreliable datagrams, which no receiver expects; each yields one completion.
class queue_pair {
public:
    static constexpr unsigned depth = 64; // of its send queue

    explicit queue_pair(ibv_cq* completions);
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
