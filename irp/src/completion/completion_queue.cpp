#include <irp/completion_queue.hpp>

#include <dispatch/support/processor.hpp>

#include <mutex>

namespace irpverbs::irp {

using dispatch::detail::point;
using dispatch::detail::sched_point;

// A removal is an IRP too, sent to the queue's own device, which pends it; so it has the features
// of all other calls. An IRP and a removal leave their queues under one lock. One thread at a time
// completes removals, so that they complete in order: the one that inserted an entry while no other
// thread was completing removals.
//
// A removal's handler, and the remover of an IRP, may destroy the queue as soon as they have it, so
// an inserting thread holds rundown protection until its last access to the queue.
namespace {

class rundown_guard {
public:
    explicit rundown_guard(EX_RUNDOWN_REF& inside) : rundown_(inside) {
        ExAcquireRundownProtection(&rundown_);
    }
    ~rundown_guard() { ExReleaseRundownProtection(&rundown_); }
    rundown_guard(const rundown_guard&) = delete;
    rundown_guard& operator=(const rundown_guard&) = delete;

private:
    EX_RUNDOWN_REF& rundown_;
};

} // namespace

completion_queue::completion_queue() {
    ExInitializeRundownProtection(&rundown_);
    driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = remove;
    const NTSTATUS status =
        IoCreateDevice(&driver_, sizeof(void*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device_);
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status, "irp::completion_queue");
    *static_cast<completion_queue**>(device_->DeviceExtension) = this;
    device_->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
}

completion_queue::~completion_queue() {
    close();
    ExWaitForRundownProtectionRelease(&rundown_);
    IoDeleteDevice(device_);
    while (IRP* irp = try_remove())
        IoFreeIrp(irp);
}

NTSTATUS completion_queue::insert_completed(DEVICE_OBJECT*, IRP* irp, void* context) {
    auto& self = *static_cast<completion_queue*>(context);
    const rundown_guard inside(self.rundown_);
    sched_point(point::lock_acquire, &self);
    self.lock_.lock();
    InsertTailList(&self.done_, &irp->Tail.Overlay.ListEntry);
    self.lock_.unlock();
    self.serve_removals();
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void completion_queue::send(IRP* remover, std::span<IRP*> into) {
    const rundown_guard inside(rundown_);
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(remover);
    next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next->Parameters.Others.Argument1 = into.data();
    next->Parameters.Others.Argument2 = reinterpret_cast<void*>(into.size());
    IoCallDriver(device_, remover);
}

NTSTATUS completion_queue::remove(DEVICE_OBJECT* device, IRP* remover) {
    auto& self = **static_cast<completion_queue**>(device->DeviceExtension);
    pending_irp request(remover);
    if (request.stack().Parameters.Others.Argument2 == nullptr)
        return std::move(request).complete(STATUS_INVALID_PARAMETER);
    const NTSTATUS pending = self.removers_.pend(std::move(request));
    self.serve_removals();
    return pending;
}

IRP* completion_queue::try_remove() {
    IRP* irp = nullptr;
    return try_remove({&irp, 1}) != 0 ? irp : nullptr;
}

std::size_t completion_queue::try_remove(std::span<IRP*> into) {
    sched_point(point::lock_acquire, this);
    const std::lock_guard guard(lock_);
    return remove_entries(done_, into);
}

std::size_t completion_queue::remove_entries(LIST_ENTRY& from, std::span<IRP*> into) {
    std::size_t count = 0;
    while (count < into.size() && !IsListEmpty(&from))
        into[count++] = CONTAINING_RECORD(RemoveHeadList(&from), IRP, Tail.Overlay.ListEntry);
    return count;
}

void completion_queue::serve_removals() {
    {
        sched_point(point::lock_acquire, this);
        const std::lock_guard guard(lock_);
        if (serving_) return; // that thread checks again after this insertion
        serving_ = true;
    }
    std::size_t count = 0;
    while (auto remover = next_removal(count))
        std::move(*remover).complete(STATUS_SUCCESS, count);
}

// Returns the oldest removal with its IRPs. Without a removal or an IRP it returns none, and the
// matching ends.
std::optional<pending_irp> completion_queue::next_removal(std::size_t& count) {
    sched_point(point::lock_acquire, this);
    const std::lock_guard guard(lock_);
    IRP* remover = IsListEmpty(&done_) ? nullptr : removers_.remove_first(nullptr, nullptr);
    serving_ = remover != nullptr;
    if (!serving_) return std::nullopt;
    pending_irp request(remover);
    const auto& parameters = request.stack().Parameters.Others;
    count = remove_entries(done_, {static_cast<IRP**>(parameters.Argument1),
                                   reinterpret_cast<std::size_t>(parameters.Argument2)});
    return std::optional<pending_irp>(std::move(request));
}

} // namespace irpverbs::irp
