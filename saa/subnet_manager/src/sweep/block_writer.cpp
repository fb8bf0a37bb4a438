#include "block_writer.hpp"

namespace irpverbs::subnet_manager {

namespace {

constexpr std::size_t max_in_flight = 16; // of a node

} // namespace

void block_writer::write(node_index node, const programmed_state::block& which, smp set) {
    if (programmed_.holds(which, set.data)) return;
    node_queue& queue = queues_[node];
    if (queue.is_silent) return;
    queue.waiting.push_back({which, std::move(set)});
    send_some(queue);
}

void block_writer::send_some(node_queue& queue) {
    while (queue.in_flight < max_in_flight && !queue.waiting.empty()) {
        const request next = std::move(queue.waiting.front());
        queue.waiting.pop_front();
        ++queue.in_flight;
        batch_.send(next.set, [this, &queue, next](const smp_response& response) {
            on_response(queue, next, response);
        });
    }
}

void block_writer::on_response(node_queue& queue, const request& sent,
                               const smp_response& response) {
    --queue.in_flight;
    if (response.success())
        programmed_.set(sent.which, sent.set.data);
    else
        incomplete_ = true;
    if (!response.received) {
        queue.is_silent = true;
        queue.waiting.clear();
    }
    send_some(queue);
}

} // namespace irpverbs::subnet_manager
