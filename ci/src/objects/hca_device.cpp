#include "hca_device.hpp"

#include "driver/driver_tables.hpp"
#include "verbs/verb.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::ci {

using dispatch::detail::spin_guard;

namespace {

// Walks ahead of a walk through the list of CAs and prefetches the IRPs that the walk will reach:
// of thousands of IRPs most are in no near cache.
class prefetcher {
public:
    prefetcher(const device_list::iterator& begin, const device_list::iterator& end,
               unsigned channel)
        : next_(begin), end_(end), channel_(channel) {
        for (unsigned i = 0; i < lead; ++i)
            step();
    }
    void step() {
        if (next_ == end_) return;
        next_->prefetch_waiter(channel_);
        ++next_;
    }

private:
    static constexpr unsigned lead = 8;
    device_list::iterator next_;
    const device_list::iterator end_;
    const unsigned channel_;
};

// The operations of a driver that has none.
const HCA_OPERATIONS& absent_operations() {
    static const HCA_OPERATIONS all = [] {
        HCA_OPERATIONS none{};
        complete_operations(none);
        return none;
    }();
    return all;
}

} // namespace

// The notifications of an event to some of the CAs, as many as one acquisition of the lock
// prepares.
struct hca_device::notifications {
    std::array<notification, 32> all;
    std::size_t count = 0;
};

hca_device::hca_device(const HCA_DEVICE& its_description, DEVICE_OBJECT* its_fdo,
                       std::shared_ptr<DRIVER_OBJECT> its_driver)
    : operations(sized_copy(*its_description.Operations)), description(its_description),
      name(its_description.Name), fdo(its_fdo), driver(std::move(its_driver)) {
    complete_operations(operations);
    KeInitializeEvent(&no_deferred_end, NotificationEvent, TRUE);
}

NTSTATUS hca_device::add_child() {
    const spin_guard guard(lock);
    if (refusing) return STATUS_DELETE_PENDING;
    ++opens;
    return STATUS_SUCCESS;
}

void hca_device::remove_child() {
    const spin_guard guard(lock);
    --opens;
}

bool hca_device::agents_have_qps() const {
    return operations.ModifyMadAgent != absent_operations().ModifyMadAgent;
}

bool hca_device::has_xrc() const {
    return operations.AllocateXrcd != absent_operations().AllocateXrcd;
}

bool hca_device::refuse_opens() {
    const auto is_own = [thread = KeGetCurrentThread()](const deferred_end_frame& each) {
        return each.is_of(thread);
    };
    for (;;) {
        {
            const spin_guard guard(lock);
            if (deferred_ends == 0) {
                refusing = refusing || opens == 0;
                return opens == 0;
            }
            if (std::ranges::any_of(beginning, is_own)) return false;
        }
        KeWaitForSingleObject(&no_deferred_end, Executive, KernelMode, FALSE, nullptr);
    }
}

void hca_device::allow_opens() {
    const spin_guard guard(lock);
    refusing = false;
}

void hca_device::begin_deferred_end() {
    const spin_guard guard(lock);
    add_deferred_end();
}

// The device may be deleted as soon as the lock is released.
void hca_device::end_deferred_end() {
    const spin_guard guard(lock);
    remove_deferred_end();
}

void hca_device::add_deferred_end() {
    if (deferred_ends++ == 0) KeClearEvent(&no_deferred_end);
}

void hca_device::remove_deferred_end() {
    if (--deferred_ends == 0) KeSetEvent(&no_deferred_end, IO_NO_INCREMENT, FALSE);
}

deferred_end_frame::deferred_end_frame(hca_device& device) : device_(device) {
    const spin_guard guard(device_.lock);
    device_.beginning.push_back(*this);
    device_.add_deferred_end();
}

deferred_end_frame::~deferred_end_frame() {
    const spin_guard guard(device_.lock);
    device_.beginning.erase(device_.beginning.iterator_to(*this));
    device_.remove_deferred_end();
}

// After a fatal event the CA stays out of the list: fail() signals each CA that it finds in the
// list, and the caller signals this one.
bool hca_device::link(ca_object& ca) {
    const spin_guard guard(lock);
    if (failed.load()) return false;
    open.push_back(ca);
    return true;
}

void hca_device::unlink(ca_object& ca) {
    const spin_guard guard(lock);
    if (ca.device_hook::is_linked()) open.erase(open.iterator_to(ca));
}

void hca_device::add(posts& which) {
    const spin_guard guard(lock);
    all_posts.push_back(which);
}

void hca_device::remove(posts& which) {
    const spin_guard guard(lock);
    all_posts.erase(all_posts.iterator_to(which));
}

void hca_device::fail() {
    {
        const spin_guard guard(lock);
        if (failed.exchange(true)) return;
        for (direct_poll& each : polls)
            each.refuse();
        for (posts& each : all_posts)
            each.refuse();
    }
    signal(0, IB_AE_LOCAL_FATAL);
}

// Prepares notifications to the CAs behind `after`, as many as there is room for. When the room is
// full, the last CA is entered and returned, because more may follow it.
ca_object* hca_device::prepare_some(ca_object* after, unsigned channel, IB_ASYNC_EVENT event,
                                    notifications& due) {
    const spin_guard guard(lock);
    auto entry = after != nullptr ? std::next(open.iterator_to(*after)) : open.begin();
    prefetcher ahead(entry, open.end(), channel);
    for (due.count = 0; entry != open.end(); ++entry) {
        ahead.step();
        ca_object& ca = *entry;
        if (ca.closing()) continue;
        due.all[due.count++] = ca.prepare_notification(channel, event);
        if (due.count == due.all.size() && ca.try_reference()) return &ca;
    }
    return nullptr;
}

// A reference keeps a CA linked, so the walk can continue from it after the lock was released.
void hca_device::signal(unsigned channel, IB_ASYNC_EVENT event) {
    ca_object* last = nullptr;
    notifications due;
    do {
        ca_object* reached = last;
        last = prepare_some(reached, channel, event, due);
        if (reached != nullptr) reached->dereference();
        for (std::size_t i = 0; i < due.count; ++i)
            due.all[i].deliver(event);
    } while (last != nullptr);
}

} // namespace irpverbs::ci
