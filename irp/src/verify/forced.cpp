#include "forced.hpp"

#include "sweep.hpp"

#include <dispatch/dpc.h>

#include <algorithm>

namespace irpverbs::irp::verify {
namespace {

void deliver(KDPC*, void* context, void*, void*) {
    auto* parcel = static_cast<delivery*>(context);
    IRP* irp = parcel->irp;
    ledger& book = ledger::of(core::this_processor());
    {
        const std::lock_guard guard(book.lock);
        std::erase_if(book.deliveries, [&](const auto& each) { return each.get() == parcel; });
    }
    resume_completion(irp);
}

// A processor other than the caller's, if there is one. PROCESSOR_NUMBER can name 256 processors.
PROCESSOR_NUMBER target_for(const core::processor& self) {
    const std::uint32_t next = self.home ? self.number + 1 : self.number;
    const std::uint32_t count = std::min<std::uint32_t>(self.owner->processor_count(), 256);
    return {0, static_cast<UCHAR>(next % count), 0};
}

} // namespace

bool to_be_forced(core::processor& self, ledger& book, const DEVICE_OBJECT& device, UCHAR major,
                  const void* caller) {
    static_cast<void>(book);
    if (watching(watch::sweep)) {
        const bool known = major <= IRP_MJ_MAXIMUM_FUNCTION;
        return sweep_wants({caller, known ? reinterpret_cast<const void*>(
                                                device.DriverObject->MajorFunction[major])
                                          : nullptr});
    }
    const std::uint32_t percent = settings.force_pending_percent;
    return watching(watch::force_pending) && percent != 0 &&
           self.owner->fires("force_pending", 100 / percent);
}

NTSTATUS deliver_later(core::processor& self, ledger& book, const frame& mine, NTSTATUS status) {
    delivery* parcel = nullptr;
    {
        const std::lock_guard guard(book.lock);
        record& irp = *mine.irp;
        level& own = irp.at(mine.location);
        if (own.use != mine.use) return status;
        own.forced = false;
        if (!own.held || own.delivered) return status;
        own.delivered = true;
        IoGetCurrentIrpStackLocation(irp.irp)->Control |= SL_PENDING_RETURNED;
        ++book.counted.forced;
        parcel = book.deliveries.emplace_back(std::make_unique<delivery>()).get();
        parcel->irp = irp.irp;
    }
    KeInitializeDpc(&parcel->dpc, deliver, parcel);
    PROCESSOR_NUMBER target = target_for(self);
    KeSetTargetProcessorDpcEx(&parcel->dpc, &target);
    KeInsertQueueDpc(&parcel->dpc, nullptr, nullptr);
    return STATUS_PENDING;
}

} // namespace irpverbs::irp::verify
