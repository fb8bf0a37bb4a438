#include <access/query_queues.hpp>

#include <access/session_port.hpp>

#include <new>

namespace irpverbs::saa {

query* query_queues::find_equal(const query& like) {
    for (query& known : bucket_of(like))
        if (known.hash == like.hash && known.request == like.request) return &known;
    return nullptr;
}

void query_queues::add(query& fresh) {
    if (fresh.request.retrieves() && !fresh.stream) {
        if (in_table_ >= table_.size()) grow();
        bucket_of(fresh).push_back(fresh);
        ++in_table_;
    }
    queue_of(fresh).push_back(fresh);
    ++queued_;
}

void query_queues::stop_sharing(query& which) {
    if (!which.bucket_entry.is_linked()) return;
    bucket_of(which).erase(bucket::s_iterator_to(which));
    --in_table_;
}

// An allocation failure leaves the table small: look-ups become slower, but stay correct.
void query_queues::grow() {
    std::vector<bucket> larger;
    try {
        larger = std::vector<bucket>(2 * table_.size());
    } catch (const std::bad_alloc&) {
        return;
    }
    table_.swap(larger);
    for (bucket& each : larger)
        while (!each.empty()) {
            query& first = each.front();
            each.pop_front();
            bucket_of(first).push_back(first);
        }
}

void query_queues::stop_sharing_sent() {
    for (bucket& each : table_)
        for (auto next = each.begin(); next != each.end();) {
            query& known = *next++;
            if (known.phase == query_phase::in_flight) stop_sharing(known);
        }
}

void query_queues::promote(query& which) {
    if (!which.bulk) return;
    if (which.phase == query_phase::queued) {
        queues_[1].erase(queue::s_iterator_to(which));
        queues_[0].push_back(which);
    }
    which.bulk = false;
}

unsigned query_queues::next_queue() {
    if (queues_[1].empty()) return 0;
    if (!queues_[0].empty() && ++since_bulk_ < bulk_share) return 0;
    since_bulk_ = 0;
    return 1;
}

query* query_queues::next() {
    if (!has_next()) return nullptr;
    query& first = queues_[next_queue()].front();
    dequeue(first);
    return &first;
}

void query_queues::dequeue(query& which) {
    queue_of(which).erase(queue::s_iterator_to(which));
    which.phase = query_phase::in_flight;
    --queued_;
    ++in_flight_;
}

void query_queues::requeue(query& which) {
    queue_of(which).push_front(which);
    which.phase = query_phase::queued;
    which.sent = false;
    ++queued_;
    --in_flight_;
}

} // namespace irpverbs::saa
