#include "force_pending.hpp"

#include <dispatch/dpc.h>

#include <algorithm>

namespace irpverbs::irp::verify {
namespace {

void run_deferred(KDPC*, void* context, void*, void*) {
    auto* completion = static_cast<deferred_completion*>(context);
    IRP* irp = completion->irp;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    {
        const std::lock_guard guard(tracker.lock);
        std::erase_if(tracker.deferred_completions,
                      [&](const auto& each) { return each.get() == completion; });
    }
    resume_completion(irp);
}

// A processor other than the caller's, if there is one. PROCESSOR_NUMBER can name 256 processors.
PROCESSOR_NUMBER target_for(const core::processor& self) {
    const std::uint32_t next = self.dedicated ? self.number + 1 : self.number;
    const std::uint32_t count = std::min<std::uint32_t>(self.owner->processor_count(), 256);
    return {0, static_cast<UCHAR>(next % count), 0};
}

} // namespace

bool should_force_pending(core::processor& self, irp_tracker& tracker, const DEVICE_OBJECT& device,
                          UCHAR major, const void* caller) {
    static_cast<void>(tracker);
    if (enabled(check::sweep)) {
        const bool known = major <= IRP_MJ_MAXIMUM_FUNCTION;
        return sweep_forces({caller, known ? reinterpret_cast<const void*>(
                                                 device.DriverObject->MajorFunction[major])
                                           : nullptr});
    }
    const std::uint32_t percent = settings.force_pending_percent;
    return enabled(check::force_pending) && percent != 0 &&
           self.owner->fires("force_pending", 100 / percent);
}

NTSTATUS queue_deferred(core::processor& self, irp_tracker& tracker, const frame& mine,
                        NTSTATUS status) {
    deferred_completion* completion = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        record& irp = *mine.irp;
        location_record& own = irp.at(mine.location);
        if (own.use != mine.use) return status;
        own.forced = false;
        if (!own.deferred || own.dpc_queued) return status;
        own.dpc_queued = true;
        IoGetCurrentIrpStackLocation(irp.irp)->Control |= SL_PENDING_RETURNED;
        ++tracker.counters.forced;
        completion =
            tracker.deferred_completions.emplace_back(std::make_unique<deferred_completion>())
                .get();
        completion->irp = irp.irp;
    }
    KeInitializeDpc(&completion->dpc, run_deferred, completion);
    PROCESSOR_NUMBER target = target_for(self);
    KeSetTargetProcessorDpcEx(&completion->dpc, &target);
    KeInsertQueueDpc(&completion->dpc, nullptr, nullptr);
    return STATUS_PENDING;
}

} // namespace irpverbs::irp::verify
