#include "shared_queue.hpp"

#include "connection.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <new>

namespace irpverbs::hca_user {

using ci::crossing::completion_reader;
using ci::crossing::completion_ring;
using ci::detail::descriptors;
using ci::detail::shared_memory;
using ci::wire::cq_descriptor;
using dispatch::detail::spin_guard;

namespace {

const auto& place_of(const descriptors& passed, cq_descriptor which) {
    return passed[static_cast<std::size_t>(which)];
}

completion_reader reader_of(const shared_memory& memory) {
    return {*reinterpret_cast<const completion_ring::daemon_part*>(memory.bytes().data()),
            completion_ring::slots_in(memory.bytes().size())};
}

} // namespace

shared_queue::ring::ring(shared_memory memory)
    : mapped(std::move(memory)), reader(reader_of(mapped)) {}

shared_queue::shared_queue(HCA_CQ* cq, connection& via, shared_memory client_part,
                           std::unique_ptr<ring> first)
    : cq_(cq), via_(via), client_part_(std::move(client_part)),
      words_(*reinterpret_cast<completion_ring::client_part*>(client_part_.bytes().data())),
      reading_(first.get()), oldest_(std::move(first)), newest_(oldest_.get()) {}

shared_queue::~shared_queue() = default;

std::unique_ptr<shared_queue::ring> shared_queue::make_ring(descriptors& passed) {
    shared_memory memory =
        shared_memory::map(place_of(passed, cq_descriptor::ring), shared_memory::others::may_read);
    if (completion_ring::slots_in(memory.bytes().size()) == 0) return nullptr;
    return std::unique_ptr<ring>(new (std::nothrow) ring(std::move(memory)));
}

std::unique_ptr<shared_queue> shared_queue::make(HCA_CQ* cq, connection& via, descriptors& passed) {
    std::unique_ptr<ring> first = make_ring(passed);
    shared_memory words = shared_memory::map(place_of(passed, cq_descriptor::client_part),
                                             shared_memory::others::may_write);
    if (first == nullptr || words.bytes().size() < sizeof(completion_ring::client_part))
        return nullptr;
    return std::unique_ptr<shared_queue>(
        new (std::nothrow) shared_queue(cq, via, std::move(words), std::move(first)));
}

bool shared_queue::replace(descriptors& passed) {
    std::unique_ptr<ring> made = make_ring(passed);
    if (made == nullptr) return false;
    const spin_guard guard(lock_);
    newest_->next = std::move(made);
    newest_ = newest_->next.get();
    return true;
}

// ---- completions

// The daemon has closed the ring at the present count. Its reply, which brings the next one, may
// come later.
bool shared_queue::advance() {
    std::unique_ptr<ring> finished;
    const spin_guard guard(lock_);
    if (reading_->next == nullptr) return false;
    finished = std::exchange(oldest_, std::move(reading_->next));
    reading_ = oldest_.get();
    return true;
}

bool shared_queue::read(IB_WC& entry) {
    const std::uint64_t count = consumed_.load(std::memory_order_relaxed);
    while (!reading_->reader.read(count, entry))
        if (!reading_->reader.ends_at(count) || !advance()) return false;
    via_.apply_stores(reading_->reader.stores_before(count));
    consumed_.store(count + 1, std::memory_order_relaxed);
    return true;
}

ULONG shared_queue::poll(ULONG count, IB_WC* entries) {
    ULONG taken = 0;
    while (taken < count && read(entries[taken]))
        ++taken;
    if (taken == 0) return 0;
    words_.consumed.store(consumed_.load(std::memory_order_relaxed), std::memory_order_release);
    via_.count_completions({entries, taken});
    return taken;
}

void shared_queue::enable_direct_poll() {
    const spin_guard guard(lock_);
    HcaEnableDirectPoll(cq_, poll_directly, reinterpret_cast<ibv_cq*>(this));
}

int shared_queue::poll_directly(ibv_cq* self, int count, ibv_wc* entries) {
    return static_cast<int>(reinterpret_cast<shared_queue*>(self)->poll(
        static_cast<ULONG>(count), reinterpret_cast<IB_WC*>(entries)));
}

// ---- events

// Under the lock. The entries that no event has covered, from the oldest on: `visit` returns false
// to end. An entry makes one event at most, as that of an HCA: programs wait for events of several
// queues, and poll the one that they expect.
template <class Visit>
void shared_queue::visit_new(const Visit& visit) {
    std::uint64_t count = std::max(consumed_.load(std::memory_order_relaxed), covered_);
    IB_WC entry;
    for (const ring* each = oldest_.get(); each != nullptr; each = each->next.get()) {
        std::uint32_t rest = each->reader.slots();
        for (; rest != 0 && each->reader.read(count, entry); --rest)
            if (!visit(entry, ++count)) return;
        if (!each->reader.has_ended_at(count)) return;
    }
}

// Another thread may remove entries at this time, so an event may be one too many, as with entries
// that are removed between an event and the poll.
bool shared_queue::has_new_entry(ULONG flags) {
    bool found = false;
    visit_new([&](const IB_WC& entry, std::uint64_t) {
        found = flags == IB_CQ_ARM_NEXT || ci::crossing::is_solicited(entry);
        return !found;
    });
    return found;
}

// The event that the caller reports covers all entries that are there.
void shared_queue::disarm() {
    armed_ = 0;
    visit_new([&](const IB_WC&, std::uint64_t count) {
        covered_ = count;
        return true;
    });
}

// completion_producer::must_notify has the other fence. An entry that both find makes one event:
// here, and no longer when the daemon's message comes.
bool shared_queue::arm(ULONG flags) {
    const spin_guard guard(lock_);
    const bool due = remove_arming();
    if (armed_ != IB_CQ_ARM_NEXT) {
        armed_ = flags;
        ++armings_;
        words_.armed.store(2 * armings_ + (flags == IB_CQ_ARM_SOLICITED ? 1 : 0),
                           std::memory_order_relaxed);
    }
    ci::crossing::shared_fence();
    if (!has_new_entry(armed_)) return due;
    disarm();
    words_.armed.store(0, std::memory_order_relaxed);
    return true;
}

bool shared_queue::take_event() {
    const spin_guard guard(lock_);
    return remove_arming();
}

// Under the lock. True: the daemon has reported the event of the arming.
bool shared_queue::remove_arming() {
    if (armed_ == 0 || newest_->reader.event() != armings_) return false;
    disarm();
    return true;
}

} // namespace irpverbs::hca_user
