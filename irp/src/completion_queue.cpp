#include <irp/completion_queue.hpp>

#include <dispatch/detail/processor.hpp>

#include <mutex>

namespace irpverbs::irp {

using dispatch::detail::point;
using dispatch::detail::sched_point;

// A removal is an IRP too, sent to a device of the queue's own that parks it; so it has all that
// other calls have. One thread at a time brings the two queues together: whoever adds to one of
// them, unless somebody is at it, who then looks again.

completion_queue::completion_queue() {
    driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = remove;
    const NTSTATUS status =
        IoCreateDevice(&driver_, sizeof(void*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device_);
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status, "irp::completion_queue");
    *static_cast<completion_queue**>(device_->DeviceExtension) = this;
    device_->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
}

completion_queue::~completion_queue() {
    close();
    IoDeleteDevice(device_);
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

void completion_queue::send(IRP* remover, std::span<IRP*> into) {
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(remover);
    next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next->Parameters.Others.Argument1 = into.data();
    next->Parameters.Others.Argument2 = reinterpret_cast<void*>(into.size());
    IoCallDriver(device_, remover);
}

NTSTATUS completion_queue::remove(DEVICE_OBJECT* device, IRP* remover) {
    auto& self = **static_cast<completion_queue**>(device->DeviceExtension);
    obligation request(remover);
    if (request.stack().Parameters.Others.Argument2 == nullptr)
        return std::move(request).complete(STATUS_INVALID_PARAMETER);
    const NTSTATUS pending = self.removers_.park(std::move(request));
    self.match();
    return pending;
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
