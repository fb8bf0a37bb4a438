// Buffers of user mode that a METHOD_NEITHER request brings as they are. The driver reports
// its stores as code does that clang compiled with -fsanitize-coverage=func,trace-stores.
#include "one_run.hpp"

#include <memory>
#include <string>
#include <vector>

#include <ntddk.h>

extern "C" void __sanitizer_cov_store4(const void* address);

namespace {

using one_run::is;
using one_run::report_of;
using one_run::send_once;

enum class step { store_input, store_output, probe_input, probe_output, lock_output };

struct buffers {
    ULONG input[4];
    ULONG output[4];
};

struct steps {
    std::vector<step> all;
    buffers* memory = nullptr;
};

void lock(PVOID address, ULONG length) {
    PMDL mdl = IoAllocateMdl(address, length, FALSE, FALSE, nullptr);
    MmProbeAndLockPages(mdl, UserMode, IoWriteAccess);
    MmUnlockPages(mdl);
    IoFreeMdl(mdl);
}

void make(step what, buffers& memory) {
    switch (what) {
    case step::store_input:
        return __sanitizer_cov_store4(&memory.input[1]);
    case step::store_output:
        return __sanitizer_cov_store4(&memory.output[3]);
    case step::probe_input:
        return ProbeForRead(memory.input, sizeof memory.input, 4);
    case step::probe_output:
        return ProbeForWrite(memory.output, sizeof memory.output, 4);
    case step::lock_output:
        return lock(memory.output, sizeof memory.output);
    }
}

NTSTATUS serve(PDEVICE_OBJECT device, PIRP irp) {
    const steps& todo = **static_cast<steps**>(device->DeviceExtension);
    for (const step each : todo.all)
        make(each, *todo.memory);
    irp->IoStatus.Status = STATUS_SUCCESS;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

/// The report of a request that reaches a driver which makes these steps.
std::string report_of_steps(const std::vector<step>& all, KPROCESSOR_MODE mode = UserMode,
                            ULONG method = METHOD_NEITHER) {
    return report_of([=] {
        DRIVER_OBJECT driver{};
        driver.MajorFunction[IRP_MJ_DEVICE_CONTROL] = serve;
        PDEVICE_OBJECT device;
        IoCreateDevice(&driver, sizeof(steps*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        const auto memory = std::make_unique<buffers>();
        steps todo{all, memory.get()};
        *static_cast<steps**>(device->DeviceExtension) = &todo;
        PIRP irp = IoAllocateIrp(1, FALSE);
        irp->RequestorMode = mode;
        irp->UserBuffer = memory->output;
        PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(irp);
        next->MajorFunction = IRP_MJ_DEVICE_CONTROL;
        auto& control = next->Parameters.DeviceIoControl;
        control.IoControlCode = CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, method, FILE_ANY_ACCESS);
        control.Type3InputBuffer = memory->input;
        control.InputBufferLength = sizeof memory->input;
        control.OutputBufferLength = sizeof memory->output;
        send_once(device, irp);
    });
}

TEST(UserBufferProbed, Broken_IsReported) {
    EXPECT_TRUE(is(report_of_steps({step::store_input}), "UserBufferProbed", "the input buffer"));
    EXPECT_TRUE(is(report_of_steps({step::probe_input, step::store_output}), "UserBufferProbed",
                   "the output buffer"));
}

TEST(UserBufferProbed, Kept_IsNotReported) {
    EXPECT_EQ(report_of_steps(
                  {step::probe_input, step::store_input, step::probe_output, step::store_output}),
              "");
    EXPECT_EQ(report_of_steps({step::lock_output, step::store_output}), "");
    EXPECT_EQ(report_of_steps({step::store_input, step::store_output}, KernelMode), "");
    EXPECT_EQ(report_of_steps({step::store_input}, UserMode, METHOD_BUFFERED), "");
}

} // namespace
