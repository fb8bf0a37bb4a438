#include <access/query_queues.hpp>

#include <access/session_port.hpp>

#include <new>

namespace irpverbs::saa {

namespace {

std::vector<LIST_ENTRY> empty_lists(std::size_t count) {
    std::vector<LIST_ENTRY> made(count);
    for (LIST_ENTRY& each : made)
        InitializeListHead(&each);
    return made;
}

} // namespace

query_queues::query_queues() : table_(empty_lists(64)) {
    for (LIST_ENTRY& each : queues_)
        InitializeListHead(&each);
}

query* query_queues::find_equal(const query& like) const {
    const LIST_ENTRY& head = table_[like.hash % table_.size()];
    for (const LIST_ENTRY* each = head.Flink; each != &head; each = each->Flink) {
        query& known = list_link<query>::of(each);
        if (known.hash == like.hash && known.request == like.request) return &known;
    }
    return nullptr;
}

void query_queues::add(query& fresh) {
    if (fresh.request.retrieves() && !fresh.stream) {
        if (in_table_ >= table_.size()) grow();
        InsertTailList(&bucket_of(fresh), &fresh.bucket_entry.entry);
        fresh.in_table = true;
        ++in_table_;
    }
    InsertTailList(&queues_[fresh.bulk ? 1 : 0], &fresh.queue_entry.entry);
    ++queued_;
}

void query_queues::stop_sharing(query& which) {
    if (!which.in_table) return;
    RemoveEntryList(&which.bucket_entry.entry);
    which.in_table = false;
    --in_table_;
}

// An allocation failure leaves the table small: look-ups become slower, but stay correct.
void query_queues::grow() {
    std::vector<LIST_ENTRY> larger;
    try {
        larger = empty_lists(2 * table_.size());
    } catch (const std::bad_alloc&) {
        return;
    }
    table_.swap(larger);
    for (LIST_ENTRY& head : larger)
        while (!IsListEmpty(&head)) {
            LIST_ENTRY* const each = RemoveHeadList(&head);
            InsertTailList(&bucket_of(list_link<query>::of(each)), each);
        }
}

void query_queues::stop_sharing_sent() {
    for (LIST_ENTRY& head : table_)
        for (LIST_ENTRY* each = head.Flink; each != &head;) {
            query& known = list_link<query>::of(each);
            each = each->Flink;
            if (known.phase == query_phase::in_flight) stop_sharing(known);
        }
}

void query_queues::promote(query& which) {
    if (!which.bulk) return;
    which.bulk = false;
    if (which.phase != query_phase::queued) return;
    RemoveEntryList(&which.queue_entry.entry);
    InsertTailList(&queues_[0], &which.queue_entry.entry);
}

unsigned query_queues::next_queue() {
    if (IsListEmpty(&queues_[1])) return 0;
    if (!IsListEmpty(&queues_[0]) && ++since_bulk_ < bulk_share) return 0;
    since_bulk_ = 0;
    return 1;
}

query* query_queues::next() {
    if (queued_ == 0 || in_flight_ >= limit_) return nullptr;
    query& first = list_link<query>::of(queues_[next_queue()].Flink);
    dequeue(first);
    return &first;
}

void query_queues::dequeue(query& which) {
    RemoveEntryList(&which.queue_entry.entry);
    which.phase = query_phase::in_flight;
    --queued_;
    ++in_flight_;
}

void query_queues::requeue(query& which) {
    InsertHeadList(&queues_[which.bulk ? 1 : 0], &which.queue_entry.entry);
    which.phase = query_phase::queued;
    which.sent = false;
    ++queued_;
    --in_flight_;
}

} // namespace irpverbs::saa
