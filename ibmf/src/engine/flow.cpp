#include <engine/flow.hpp>

namespace irpverbs::ibmf {

void flow::go(transaction& which) {
    which.in_flight = true;
    ++in_flight_;
}

bool flow::enter(transaction& fresh, client_lines& its_client) {
    if (in_flight_ < limit_ && queued_ == 0) {
        go(fresh);
        return true;
    }
    const unsigned rank = rank_of(fresh);
    waiting_line& line = its_client[rank];
    if (IsListEmpty(&line.transactions)) InsertTailList(&rings_[rank], &line.in_ring);
    InsertTailList(&line.transactions, &fresh.in_line);
    fresh.at = phase::queued;
    ++queued_;
    return false;
}

void flow::leave(transaction& ended, client_lines& its_client) {
    if (ended.in_flight) {
        ended.in_flight = false;
        --in_flight_;
    } else if (ended.at == phase::queued) {
        waiting_line& line = its_client[rank_of(ended)];
        RemoveEntryList(&ended.in_line);
        if (IsListEmpty(&line.transactions)) RemoveEntryList(&line.in_ring);
        --queued_;
    }
}

// A client whose queue was served moves to the end of the ring.
transaction* flow::next() {
    if (in_flight_ >= limit_) return nullptr;
    for (LIST_ENTRY& ring : rings_) {
        if (IsListEmpty(&ring)) continue;
        waiting_line& line = *CONTAINING_RECORD(RemoveHeadList(&ring), waiting_line, in_ring);
        transaction& first =
            *CONTAINING_RECORD(RemoveHeadList(&line.transactions), transaction, in_line);
        if (!IsListEmpty(&line.transactions)) InsertTailList(&ring, &line.in_ring);
        --queued_;
        go(first);
        return &first;
    }
    return nullptr;
}

} // namespace irpverbs::ibmf
