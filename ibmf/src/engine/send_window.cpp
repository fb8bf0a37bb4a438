#include <engine/send_window.hpp>

namespace irpverbs::ibmf {

void send_window::admit(transaction& which) {
    which.in_flight = true;
    ++in_flight_;
}

bool send_window::insert(transaction& fresh, client_queues& its_client) {
    if (in_flight_ < limit_ && queued_ == 0) {
        admit(fresh);
        return true;
    }
    const unsigned rank = rank_of(fresh);
    client_queue& queue = its_client[rank];
    if (IsListEmpty(&queue.transactions)) InsertTailList(&rings_[rank], &queue.ring_entry);
    InsertTailList(&queue.transactions, &fresh.queue_entry);
    fresh.state = transaction_state::queued;
    ++queued_;
    return false;
}

void send_window::remove(transaction& ended, client_queues& its_client) {
    if (ended.in_flight) {
        ended.in_flight = false;
        --in_flight_;
    } else if (ended.state == transaction_state::queued) {
        client_queue& queue = its_client[rank_of(ended)];
        RemoveEntryList(&ended.queue_entry);
        if (IsListEmpty(&queue.transactions)) RemoveEntryList(&queue.ring_entry);
        --queued_;
    }
}

// A client whose queue was served moves to the end of the ring.
transaction* send_window::next() {
    if (in_flight_ >= limit_) return nullptr;
    for (LIST_ENTRY& ring : rings_) {
        if (IsListEmpty(&ring)) continue;
        client_queue& queue = *CONTAINING_RECORD(RemoveHeadList(&ring), client_queue, ring_entry);
        transaction& first =
            *CONTAINING_RECORD(RemoveHeadList(&queue.transactions), transaction, queue_entry);
        if (!IsListEmpty(&queue.transactions)) InsertTailList(&ring, &queue.ring_entry);
        --queued_;
        admit(first);
        return &first;
    }
    return nullptr;
}

} // namespace irpverbs::ibmf
