// Completion queues and completion channels.
#pragma once

#include "async_events.hpp"
#include "event_queue.hpp"
#include <verbs/library.h>

#include <ci/data_path.h>

#include <mutex>
#include <vector>

namespace irpverbs::verbs {

struct completion_channel : ibv_comp_channel {
    event_queue events;

    static completion_channel& of(ibv_comp_channel* shown) {
        return *static_cast<completion_channel*>(shown);
    }
};

/// A completion queue. Its polls are serialised here: those of ci are the caller's to serialise,
/// those of libibverbs are not.
struct completion_queue : ibv_cq_ex {
    IB_CQ* cq = nullptr;
    event_source completion;
    async_sources<1> error;

    static completion_queue& of(ibv_cq* shown) {
        return *static_cast<completion_queue*>(reinterpret_cast<ibv_cq_ex*>(shown));
    }
    static completion_queue& of(ibv_cq_ex* shown) { return *static_cast<completion_queue*>(shown); }
    ibv_cq* shown() { return ibv_cq_ex_to_cq(this); }

    /// As ibv_poll_cq.
    int poll(int count, ibv_wc* entries);
    /// Removes the completions of a queue pair that is destroyed or reset: libibverbs does not
    /// return them.
    void remove_completions(std::uint32_t qp_num);
    /// As ibv_req_notify_cq.
    int arm(bool solicited_only);

    ibv_wc current{}; // of the extended polls

private:
    int take(int count, ibv_wc* entries);

    std::mutex poll_lock_;
    std::vector<ibv_wc> kept_;  // guarded by poll_lock_, as the next two: completions that a
    std::size_t next_kept_ = 0; // removal has taken out of the queue
    unsigned empty_polls_ = 0;  // since a completion was found
};

int poll_cq(ibv_cq* cq, int count, ibv_wc* entries);
int request_notification(ibv_cq* cq, int solicited_only);
ibv_cq_ex* create_cq_ex(ibv_context* of, ibv_cq_init_attr_ex* attr);

/// Sets the functions of the extended polls.
void fill_table(ibv_cq_ex& made);

} // namespace irpverbs::verbs
