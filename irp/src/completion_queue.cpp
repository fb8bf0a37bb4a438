#include <irp/completion_queue.hpp>

#include <dispatch/detail/processor.hpp>

#include <mutex>

namespace irpverbs::irp {

using dispatch::detail::point;
using dispatch::detail::sched_point;

// A removal that waits is an IRP too, parked in a cancel-safe queue; so it has all that other calls
// have. One thread at a time brings the two queues together: whoever adds to one of them, unless
// somebody is at it, who then looks again.

completion_queue::~completion_queue() {
    close();
    while (IRP* irp = try_remove())
        IoFreeIrp(irp);
}

NTSTATUS completion_queue::arrived(DEVICE_OBJECT*, IRP* irp, void* context) {
    auto& self = *static_cast<completion_queue*>(context);
    sched_point(point::lock_acquire, &self);
    self.lock_.lock();
    InsertTailList(&self.done_, &irp->Tail.Overlay.ListEntry);
    self.lock_.unlock();
    self.match();
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// The removal is its own driver: it goes to its one location.
void completion_queue::park(IRP* remover, std::span<IRP*> into) {
    IoSetNextIrpStackLocation(remover);
    if (into.empty()) {
        obligation(remover).complete(STATUS_INVALID_PARAMETER);
        return;
    }
    auto& parameters = IoGetCurrentIrpStackLocation(remover)->Parameters.Others;
    parameters.Argument1 = into.data();
    parameters.Argument2 = reinterpret_cast<void*>(into.size());
    removers_.park(obligation(remover));
    match();
}

IRP* completion_queue::try_remove() {
    IRP* irp = nullptr;
    return try_remove({&irp, 1}) != 0 ? irp : nullptr;
}

std::size_t completion_queue::try_remove(std::span<IRP*> into) {
    sched_point(point::lock_acquire, this);
    const std::lock_guard guard(lock_);
    std::size_t count = 0;
    while (count < into.size() && !IsListEmpty(&done_))
        into[count++] = CONTAINING_RECORD(RemoveHeadList(&done_), IRP, Tail.Overlay.ListEntry);
    return count;
}

void completion_queue::match() {
    {
        const std::lock_guard guard(lock_);
        again_ = true;
        if (matching_) return;
        matching_ = true;
    }
    while (stay_matching())
        while (serve_one()) {
        }
}

bool completion_queue::stay_matching() {
    const std::lock_guard guard(lock_);
    matching_ = again_;
    again_ = false;
    return matching_;
}

// False: there is nobody to serve, or nothing to serve with.
bool completion_queue::serve_one() {
    {
        const std::lock_guard guard(lock_);
        if (IsListEmpty(&done_)) return false;
    }
    auto remover = removers_.pop();
    if (!remover) return false;
    const auto& parameters = remover->stack().Parameters.Others;
    const std::span into(static_cast<IRP**>(parameters.Argument1),
                         reinterpret_cast<std::size_t>(parameters.Argument2));
    const std::size_t count = try_remove(into);
    if (count != 0)
        std::move(*remover).complete(STATUS_SUCCESS, count);
    else
        removers_.park(std::move(*remover)); // try_remove was faster; behind the others now
    return true;
}

} // namespace irpverbs::irp
