#include "device.hpp"

#include "driver_tables.hpp"
#include "verb.hpp"

#include <dispatch/detail/spin_lock.hpp>

#include <utility>

namespace irpverbs::ci {

using dispatch::detail::spin_guard;

namespace {

ca_object& ca_of(const LIST_ENTRY* entry) {
    return *CONTAINING_RECORD(entry, device_link, entry)->ca;
}

// Walks ahead of a walk through the list of CAs and prefetches the IRPs that the walk will reach:
// of thousands of IRPs most are in no near cache.
class fetcher {
public:
    fetcher(const LIST_ENTRY* begin, const LIST_ENTRY* end, unsigned channel)
        : next_(begin), end_(end), channel_(channel) {
        for (unsigned i = 0; i < lead; ++i)
            step();
    }
    void step() {
        if (next_ == end_) return;
        ca_of(next_).fetch_waiter(channel_);
        next_ = next_->Flink;
    }

private:
    static constexpr unsigned lead = 8;
    const LIST_ENTRY* next_;
    const LIST_ENTRY* const end_;
    const unsigned channel_;
};

} // namespace

// The deliveries of an event to some of the CAs, as many as one acquisition of the lock prepares.
struct hca_device::deliveries {
    std::array<delivery, 32> all;
    std::size_t count = 0;
};

hca_device::hca_device(const HCA_DEVICE& its_description, DEVICE_OBJECT* its_fdo,
                       std::shared_ptr<DRIVER_OBJECT> its_driver)
    : operations(sized_copy(*its_description.Operations)), description(its_description),
      name(its_description.Name), fdo(its_fdo), driver(std::move(its_driver)) {
    complete_operations(operations);
    InitializeListHead(&open);
    InitializeListHead(&polled);
}

NTSTATUS hca_device::add_child() {
    const spin_guard guard(lock);
    if (refusing) return STATUS_DELETE_PENDING;
    ++opens;
    return STATUS_SUCCESS;
}

void hca_device::drop_child() {
    const spin_guard guard(lock);
    --opens;
}

bool hca_device::agents_have_qps() const {
    static const auto hole = [] {
        HCA_OPERATIONS none{};
        complete_operations(none);
        return none.ModifyMadAgent;
    }();
    return operations.ModifyMadAgent != hole;
}

bool hca_device::refuse(bool on) {
    const spin_guard guard(lock);
    if (on && opens != 0) return false;
    refusing = on;
    return true;
}

// After a fatal event the CA stays out of the list: die() signals each CA that it finds in the
// list, and the caller signals this one.
bool hca_device::link(ca_object& ca) {
    const spin_guard guard(lock);
    if (dead.load()) return false;
    ca.link.ca = &ca;
    InsertTailList(&open, &ca.link.entry);
    return true;
}

void hca_device::unlink(ca_object& ca) {
    const spin_guard guard(lock);
    if (ca.link.ca != nullptr) RemoveEntryList(&ca.link.entry);
    ca.link.ca = nullptr;
}

void hca_device::die() {
    {
        const spin_guard guard(lock);
        if (dead.exchange(true)) return;
        for (const LIST_ENTRY* entry = polled.Flink; entry != &polled; entry = entry->Flink)
            direct_poll::of(entry).refuse();
    }
    signal(0, IB_AE_LOCAL_FATAL);
}

// Prepares deliveries to the CAs behind `after`, as many as there is room for. When the room is
// full, the last CA is entered and returned, because more may follow it.
ca_object* hca_device::note_some(ca_object* after, unsigned channel, IB_ASYNC_EVENT event,
                                 deliveries& due) {
    const spin_guard guard(lock);
    const LIST_ENTRY* entry = after != nullptr ? after->link.entry.Flink : open.Flink;
    fetcher ahead(entry, &open, channel);
    for (due.count = 0; entry != &open; entry = entry->Flink) {
        ahead.step();
        ca_object& ca = ca_of(entry);
        if (ca.closing()) continue;
        due.all[due.count++] = ca.note(channel, event);
        if (due.count == due.all.size() && ca.enter()) return &ca;
    }
    return nullptr;
}

// A user keeps a CA linked, so the walk can continue from it after the lock was released.
void hca_device::signal(unsigned channel, IB_ASYNC_EVENT event) {
    ca_object* last = nullptr;
    deliveries due;
    do {
        ca_object* reached = last;
        last = note_some(reached, channel, event, due);
        if (reached != nullptr) reached->leave();
        for (std::size_t i = 0; i < due.count; ++i)
            due.all[i].make(event);
    } while (last != nullptr);
}

} // namespace irpverbs::ci
