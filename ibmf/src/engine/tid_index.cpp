#include <engine/tid_index.hpp>

#include <new>
#include <utility>

namespace irpverbs::ibmf {

void tid_index::insert(transaction& fresh) {
    if (count_ >= size_) grow();
    fresh.next_of_tid = std::exchange(bucket(fresh.tid), &fresh);
    ++count_;
}

void tid_index::erase(transaction& gone) {
    transaction** link = &bucket(gone.tid);
    while (*link != &gone)
        link = &(*link)->next_of_tid;
    *link = gone.next_of_tid;
    --count_;
}

// Without memory the buckets stay, and the chains get longer.
void tid_index::grow() {
    const std::size_t wanted = 2 * size_;
    std::unique_ptr<transaction*[]> larger(new (std::nothrow) transaction*[wanted]());
    if (larger == nullptr) return;
    transaction** const old = std::exchange(buckets_, larger.get());
    const std::size_t old_size = std::exchange(size_, wanted);
    --shift_;
    for (std::size_t i = 0; i < old_size; ++i)
        while (transaction* each = old[i]) {
            old[i] = each->next_of_tid;
            each->next_of_tid = std::exchange(bucket(each->tid), each);
        }
    further_buckets_ = std::move(larger);
}

} // namespace irpverbs::ibmf
