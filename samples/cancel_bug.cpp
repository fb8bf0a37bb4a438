// The classic cancel bug: a driver sets a cancel routine and does not check Irp->Cancel again. A
// request that was cancelled just before then waits for ever. Few schedules show the bug; the
// simulator finds one of them, shrinks it, and repeats it.
#include <dispatch/testing/explore.hpp>
#include <irp/wdm.h>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace irpverbs::dispatch;

/// Pends one request until it is cancelled.
class pending_driver {
public:
    explicit pending_driver(bool rechecks) : rechecks_(rechecks) {
        driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = pend;
        IoCreateDevice(&driver_, sizeof(pending_driver*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE,
                       &device);
        *static_cast<pending_driver**>(device->DeviceExtension) = this;
    }
    ~pending_driver() { IoDeleteDevice(device); }

    DEVICE_OBJECT* device = nullptr;

private:
    static void complete_cancelled(IRP* irp) {
        irp->IoStatus.Status = STATUS_CANCELLED;
        irp->IoStatus.Information = 0;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
    }

    static void on_cancel(DEVICE_OBJECT*, IRP* irp) {
        IoReleaseCancelSpinLock(irp->CancelIrql);
        complete_cancelled(irp);
    }

    static NTSTATUS pend(DEVICE_OBJECT* device, IRP* irp) {
        const auto* self = *static_cast<pending_driver**>(device->DeviceExtension);
        IoMarkIrpPending(irp);
        IoSetCancelRoutine(irp, on_cancel);
        // IoCancelIrp ran before IoSetCancelRoutine, so the I/O manager will not call the routine.
        if (self->rechecks_ && __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) &&
            IoSetCancelRoutine(irp, nullptr) != nullptr)
            complete_cancelled(irp);
        return STATUS_PENDING;
    }

    DRIVER_OBJECT driver_{};
    bool rechecks_;
};

NTSTATUS count(DEVICE_OBJECT*, IRP*, void* completions) {
    ++*static_cast<int*>(completions);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/// One run: a thread pends a request while another thread cancels it.
std::optional<std::string> pend_and_cancel(sim_machine& sim, bool rechecks) {
    pending_driver driver(rechecks);
    int completions = 0;
    IRP* irp = IoAllocateIrp(driver.device->StackSize, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoSetCompletionRoutine(irp, count, &completions, TRUE, TRUE, TRUE);
    sim.spawn("park", [&] { IoCallDriver(driver.device, irp); });
    sim.spawn("cancel", [&] { IoCancelIrp(irp); });
    sim.run();
    IoSetCancelRoutine(irp, nullptr); // for a request that was never completed
    IoFreeIrp(irp);
    if (completions != 1) return "the cancelled request never came back";
    return std::nullopt;
}

std::optional<std::string> wrong(sim_machine& sim) { return pend_and_cancel(sim, false); }
std::optional<std::string> right(sim_machine& sim) { return pend_and_cancel(sim, true); }

/// Runs the one schedule that a replay line names.
explore_summary repeat(const std::string& replay) {
    const auto assignment = replay.find('=');
    setenv(replay.substr(0, assignment).c_str(), replay.substr(assignment + 1).c_str(), 1);
    explore_options as_it_is;
    as_it_is.shrink_budget = 0;
    explore_summary again = explore(as_it_is, wrong);
    unsetenv(replay.substr(0, assignment).c_str());
    return again;
}

} // namespace

int main() {
    explore_options every;
    every.exhaustive_runs = 100'000;

    const explore_summary found = explore(every, wrong);
    if (!found.failure) return 1;
    std::printf("the driver that does not test Irp->Cancel:\n%s\n", found.failure->report.c_str());

    const explore_summary again = repeat(found.failure->replay);
    if (!again.failure || again.failure->event_log != found.failure->event_log) return 1;
    std::printf("replayed, the same events:\n%s\n", again.failure->event_log.c_str());

    const explore_summary good = explore(every, right);
    std::printf("the driver that tests Irp->Cancel: %s\n", good.text().c_str());
    return good.passed() && good.exhausted ? 0 : 1;
}
