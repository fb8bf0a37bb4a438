#include <access/query_lines.hpp>

#include <access/port.hpp>

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

query_lines::query_lines() : table_(empty_lists(64)) {
    for (LIST_ENTRY& each : lines_)
        InitializeListHead(&each);
}

query* query_lines::find_equal(const query& like) const {
    const LIST_ENTRY& head = table_[like.hash % table_.size()];
    for (const LIST_ENTRY* each = head.Flink; each != &head; each = each->Flink) {
        query& known = list_link<query>::of(each);
        if (known.hash == like.hash && known.asked == like.asked) return &known;
    }
    return nullptr;
}

void query_lines::add(query& fresh) {
    if (fresh.asked.retrieves() && !fresh.stream) {
        if (in_table_ >= table_.size()) grow();
        InsertTailList(&bucket_of(fresh), &fresh.in_bucket.entry);
        fresh.in_table = true;
        ++in_table_;
    }
    InsertTailList(&lines_[fresh.bulk ? 1 : 0], &fresh.in_line.entry);
    ++queued_;
}

void query_lines::close(query& which) {
    if (!which.in_table) return;
    RemoveEntryList(&which.in_bucket.entry);
    which.in_table = false;
    --in_table_;
}

// An allocation failure leaves the table small: look-ups become slower, but stay correct.
void query_lines::grow() {
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

void query_lines::close_all_sent() {
    for (LIST_ENTRY& head : table_)
        for (LIST_ENTRY* each = head.Flink; each != &head;) {
            query& known = list_link<query>::of(each);
            each = each->Flink;
            if (known.phase == query_phase::in_flight) close(known);
        }
}

void query_lines::promote(query& which) {
    if (!which.bulk) return;
    which.bulk = false;
    if (which.phase != query_phase::queued) return;
    RemoveEntryList(&which.in_line.entry);
    InsertTailList(&lines_[0], &which.in_line.entry);
}

unsigned query_lines::line_to_serve() {
    if (IsListEmpty(&lines_[1])) return 0;
    if (!IsListEmpty(&lines_[0]) && ++since_bulk_ < bulk_share) return 0;
    since_bulk_ = 0;
    return 1;
}

query* query_lines::next() {
    if (queued_ == 0 || in_flight_ >= limit_) return nullptr;
    query& first = list_link<query>::of(lines_[line_to_serve()].Flink);
    take_out(first);
    return &first;
}

void query_lines::take_out(query& which) {
    RemoveEntryList(&which.in_line.entry);
    which.phase = query_phase::in_flight;
    --queued_;
    ++in_flight_;
}

void query_lines::back_to_line(query& which) {
    InsertHeadList(&lines_[which.bulk ? 1 : 0], &which.in_line.entry);
    which.phase = query_phase::queued;
    which.sent = false;
    ++queued_;
    --in_flight_;
}

} // namespace irpverbs::saa
