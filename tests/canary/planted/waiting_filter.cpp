#include "planted.hpp"

#include <utility>

namespace planted {
namespace {

using namespace irpverbs::testing;

void wait_for(KEVENT& event) {
    KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, nullptr);
}

NTSTATUS reclaim(DEVICE_OBJECT*, IRP* irp, void* event) {
    if (planted("CompletionEventChecking") && irp->PendingReturned) IoMarkIrpPending(irp);
    if (!planted("SignalEventInCompletion"))
        KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

NTSTATUS pass_and_wait(DEVICE_OBJECT* lower, IRP* irp) {
    KEVENT back;
    KeInitializeEvent(&back, NotificationEvent, FALSE);
    IoCopyCurrentIrpStackLocationToNext(irp);
    IoSetCompletionRoutine(irp, reclaim, &back, TRUE, TRUE, TRUE);
    if (IoCallDriver(lower, irp) == STATUS_PENDING) wait_for(back);
    return complete(irp, STATUS_SUCCESS);
}

// Sends a request of the driver, with its event and status block on the stack.
void ask_below(DEVICE_OBJECT* lower, bool control, bool waits) {
    KEVENT done;
    IO_STATUS_BLOCK status{};
    LARGE_INTEGER offset{};
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    IRP* own = control ? IoBuildDeviceIoControlRequest(0, lower, nullptr, 0, nullptr, 0, FALSE,
                                                       &done, &status)
                       : IoBuildSynchronousFsdRequest(IRP_MJ_FLUSH_BUFFERS, lower, nullptr, 0,
                                                      &offset, &done, &status);
    if (IoCallDriver(lower, own) == STATUS_PENDING && waits) wait_for(done);
}

bool wakes_no_waiter() {
    return planted("IoAllocateIrpSignalEventInCompletion") ||
           planted("IoBuildFsdIrpSignalEventInCompletion");
}

NTSTATUS take(DEVICE_OBJECT*, IRP* irp, void* event) {
    IoFreeIrp(irp);
    if (!wakes_no_waiter()) KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void send_and_wait(DEVICE_OBJECT* to, IRP* own) {
    KEVENT back;
    KeInitializeEvent(&back, NotificationEvent, FALSE);
    IoSetCompletionRoutine(own, take, &back, TRUE, TRUE, TRUE);
    IoCallDriver(to, own);
    wait_for(back);
}

// An originator that waits for the completion of each request.
void waiting_originator(sim_machine& sim) {
    IRP* pended = nullptr;
    const lambda_driver below(pend_in(pended));
    sim.spawn("make", [&] {
        if (!planted("IoBuildFsdIrpSignalEventInCompletion")) {
            IRP* own = IoAllocateIrp(1, FALSE);
            IoGetNextIrpStackLocation(own)->MajorFunction = IRP_MJ_READ;
            send_and_wait(below.device(), own);
        }
        send_and_wait(below.device(),
                      IoBuildAsynchronousFsdRequest(IRP_MJ_FLUSH_BUFFERS, below.device(), nullptr,
                                                    0, nullptr, nullptr));
    });
    const int requests = wakes_no_waiter() ? 1 : 2;
    sim.spawn("complete", [&] {
        LARGE_INTEGER millisecond; // of machine time, after which the originator waits
        millisecond.QuadPart = -10'000;
        for (int i = 0; i < requests; ++i) {
            do
                KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
            while (pended == nullptr);
            complete(std::exchange(pended, nullptr), STATUS_SUCCESS);
        }
    });
    sim.run();
}

void filter_that_waits(sim_machine& sim) {
    IRP* pended = nullptr;
    lambda_driver below(pend_in(pended));
    const lambda_driver filter(
        below, [&](DEVICE_OBJECT*, IRP* irp) { return pass_and_wait(below.device(), irp); });
    request asked(2);
    sim.spawn("send", [&] { asked.send(filter); });
    sim.spawn("complete", [&] {
        while (pended == nullptr)
            sim.yield();
        complete(pended, STATUS_SUCCESS);
    });
    sim.run();
}

void driver_that_asks(sim_machine& sim, bool control) {
    const bool completed = !planted(control ? "IoBuildDeviceControlWaitTimeout"
                                            : "IoBuildSynchronousFsdRequestWaitTimeout");
    const bool waits =
        !planted(control ? "IoBuildDeviceControlWait" : "IoBuildSynchronousFsdRequestWait");
    IRP* pended = nullptr;
    lambda_driver below(pend_in(pended));
    const lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
        ask_below(below.device(), control, waits);
        return complete(irp, STATUS_SUCCESS);
    });
    request asked;
    sim.spawn("send", [&] { asked.send(driver); });
    if (completed)
        sim.spawn("complete", [&] {
            while (pended == nullptr || (!waits && asked.completions() == 0))
                sim.yield();
            complete(pended, STATUS_SUCCESS);
        });
    sim.run();
}

} // namespace

void waits_for_requests(sim_machine& sim) {
    filter_that_waits(sim);
    waiting_originator(sim);
    driver_that_asks(sim, true);
    driver_that_asks(sim, false);
}

} // namespace planted
