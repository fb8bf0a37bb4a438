// Writes blocks of the nodes' tables.
#pragma once

#include "programmed_state.hpp"

#include <smp_batch.hpp>

#include <deque>
#include <map>

namespace irpverbs::subnet_manager {

/// A limited number of writes to a node is in flight, and a write without a response is the node's
/// last one: a node that announces large tables and does not respond costs a sweep a few SMPs. Runs
/// in tasks of the channel's queue. Must live until the end of the batch.
class block_writer {
public:
    block_writer(smp_batch& batch, programmed_state& programmed)
        : batch_(batch), programmed_(programmed) {}

    /// Sends the Set of a block, unless the node has the data.
    void write(node_index node, const programmed_state::block& which, smp set);

    /// Whether a node has refused a block or not responded.
    bool incomplete() const { return incomplete_; }

private:
    struct request {
        programmed_state::block which;
        smp set;
    };
    struct node_queue {
        std::deque<request> waiting;
        std::size_t in_flight = 0;
        bool is_silent = false;
    };

    void send_some(node_queue& queue);
    void on_response(node_queue& queue, const request& sent, const smp_response& response);

    smp_batch& batch_;
    programmed_state& programmed_;
    std::map<node_index, node_queue> queues_;
    bool incomplete_ = false;
};

} // namespace irpverbs::subnet_manager
