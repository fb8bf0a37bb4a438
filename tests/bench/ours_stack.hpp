// Device stacks as drivers build them, and packets that an originator sends to them.
#pragma once

#include "harness.hpp"

#include <irp/wdm.h>

#include <cstdint>
#include <vector>

namespace irpverbs::bench {

inline constexpr ULONG_PTR result_information = 42; // IoStatus.Information of the drivers here

// A bottom device whose driver has one dispatch routine, and filters above it. Each filter sets a
// completion routine that passes the pending mark on.
class device_stack {
public:
    explicit device_stack(PDRIVER_DISPATCH bottom, int filters = 0, PVOID context = nullptr);
    ~device_stack();
    device_stack(const device_stack&) = delete;
    device_stack& operator=(const device_stack&) = delete;

    PDEVICE_OBJECT top() const { return devices_.back(); }

private:
    std::vector<DRIVER_OBJECT*> drivers_;
    std::vector<PDEVICE_OBJECT> devices_;
};

// The context of the stack, for the bottom driver's dispatch routine.
inline PVOID context_of(PDEVICE_OBJECT device) {
    return *static_cast<PVOID*>(device->DeviceExtension);
}

// A packet that its originator keeps and sends repeatedly.
class packet {
public:
    explicit packet(PDEVICE_OBJECT top) : top_(top), irp_(IoAllocateIrp(top->StackSize, FALSE)) {
        expect(irp_ != nullptr, "IoAllocateIrp");
    }
    ~packet() { IoFreeIrp(irp_); }
    packet(const packet&) = delete;
    packet& operator=(const packet&) = delete;

    PIRP irp() const { return irp_; }

    NTSTATUS send(PIO_COMPLETION_ROUTINE done, PVOID context) {
        IoReuseIrp(irp_, STATUS_SUCCESS);
        return send_prepared(top_, irp_, done, context);
    }
    static NTSTATUS send_prepared(PDEVICE_OBJECT top, PIRP irp, PIO_COMPLETION_ROUTINE done,
                                  PVOID context) {
        PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(irp);
        next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        next->Parameters.DeviceIoControl.IoControlCode = 7;
        IoSetCompletionRoutine(irp, done, context, TRUE, TRUE, TRUE);
        return IoCallDriver(top, irp);
    }

private:
    PDEVICE_OBJECT top_;
    PIRP irp_;
};

// Originator's completion routine: adds IoStatus.Information to the context, a std::uint64_t, and
// keeps the packet.
NTSTATUS count_and_keep(PDEVICE_OBJECT, PIRP irp, PVOID context);

inline void complete(PIRP irp, NTSTATUS status, ULONG_PTR information) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
}

// Dispatch routine that completes inside the call.
NTSTATUS complete_at_once(PDEVICE_OBJECT, PIRP irp);

} // namespace irpverbs::bench
