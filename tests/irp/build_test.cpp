// Requests built in one step: their fields, their buffers, and how their sender learns of the
// completion.
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/exhaustive_gtest.hpp>
#include <support/irp_stack.hpp>

#include <dispatch/testing/fault_sweep.hpp>

#include <array>
#include <cstring>
#include <string>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

constexpr ULONG code_of(ULONG method) {
    return CTL_CODE(FILE_DEVICE_UNKNOWN, 0x801, method, FILE_ANY_ACCESS);
}

NTSTATUS wait_for(KEVENT& event) {
    return KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, nullptr);
}

// Answers "ping" with "pong!" at the places that the method defines.
NTSTATUS complete_ping(DEVICE_OBJECT*, IRP* irp) {
    const IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(irp);
    const auto& asked = location->Parameters.DeviceIoControl;
    const ULONG method = METHOD_FROM_CTL_CODE(asked.IoControlCode);
    const void* input =
        method == METHOD_NEITHER ? asked.Type3InputBuffer : irp->AssociatedIrp.SystemBuffer;
    EXPECT_EQ(asked.InputBufferLength, 4u);
    EXPECT_EQ(std::memcmp(input, "ping", 4), 0);
    void* output = method == METHOD_BUFFERED  ? irp->AssociatedIrp.SystemBuffer
                   : method == METHOD_NEITHER ? irp->UserBuffer
                                              : MmGetSystemAddressForMdlSafe(irp->MdlAddress, 0);
    std::memcpy(output, "pong!", 5);
    return complete(irp, STATUS_SUCCESS, 5);
}

class BuildRequest : public BothMachines {
protected:
    BuildRequest() { KeInitializeEvent(&done, NotificationEvent, FALSE); }

    IRP* control(const test_driver& to, ULONG method) {
        return IoBuildDeviceIoControlRequest(code_of(method), to.device, input.data(), 4,
                                             output.data(), 8, TRUE, &done, &status);
    }

    KEVENT done;
    IO_STATUS_BLOCK status{{STATUS_PENDING}, 0};
    std::array<char, 4> input{'p', 'i', 'n', 'g'};
    std::array<char, 8> output{};
};

TEST_P(BuildRequest, IoBuildDeviceIoControlRequest_FillsFields) {
    test_driver bottom(complete_ping);
    IRP* irp = control(bottom, METHOD_NEITHER);
    const IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
    EXPECT_EQ(next->MajorFunction, IRP_MJ_INTERNAL_DEVICE_CONTROL);
    EXPECT_EQ(next->Parameters.DeviceIoControl.IoControlCode, code_of(METHOD_NEITHER));
    EXPECT_EQ(next->Parameters.DeviceIoControl.InputBufferLength, 4u);
    EXPECT_EQ(next->Parameters.DeviceIoControl.OutputBufferLength, 8u);
    EXPECT_EQ(irp->StackCount, bottom.device->StackSize);
    EXPECT_EQ(irp->UserEvent, &done);
    EXPECT_EQ(irp->UserIosb, &status);
    EXPECT_EQ(irp->AssociatedIrp.SystemBuffer, nullptr);
    IoCallDriver(bottom.device, irp);

    irp = IoBuildDeviceIoControlRequest(code_of(METHOD_NEITHER), bottom.device, input.data(), 4,
                                        output.data(), 8, FALSE, nullptr, &status);
    EXPECT_EQ(IoGetNextIrpStackLocation(irp)->MajorFunction, IRP_MJ_DEVICE_CONTROL);
    IoCallDriver(bottom.device, irp);
}

TEST_P(BuildRequest, EachTransferMethod_CarriesInputAndOutput) {
    test_driver bottom(complete_ping);
    for (const ULONG method : {ULONG{METHOD_BUFFERED}, ULONG{METHOD_IN_DIRECT},
                               ULONG{METHOD_OUT_DIRECT}, ULONG{METHOD_NEITHER}}) {
        output = {};
        status = {{STATUS_PENDING}, 0};
        KeClearEvent(&done);
        EXPECT_EQ(IoCallDriver(bottom.device, control(bottom, method)), STATUS_SUCCESS);
        EXPECT_EQ(wait_for(done), STATUS_SUCCESS);
        EXPECT_EQ(status.Status, STATUS_SUCCESS);
        EXPECT_EQ(status.Information, 5u);
        EXPECT_STREQ(output.data(), "pong!") << "method " << method;
    }
}

// Tests that output smaller than the input buffer is copied to the caller, limited to Information
// bytes.
TEST_P(BuildRequest, BufferedOutput_CopiesInformationBytesOnly) {
    test_driver bottom([](DEVICE_OBJECT*, IRP* irp) {
        std::memset(irp->AssociatedIrp.SystemBuffer, 'x', 8);
        return complete(irp, STATUS_BUFFER_OVERFLOW, 3); // a warning: the part that fits is copied
    });
    IoCallDriver(bottom.device, control(bottom, METHOD_BUFFERED));
    EXPECT_EQ(status.Status, STATUS_BUFFER_OVERFLOW);
    EXPECT_STREQ(output.data(), "xxx");
}

TEST_P(BuildRequest, ErrorStatus_CopiesNoOutputAndSetsEvent) {
    test_driver bottom([](DEVICE_OBJECT*, IRP* irp) {
        std::memset(irp->AssociatedIrp.SystemBuffer, 'x', 8);
        return complete(irp, STATUS_IO_DEVICE_ERROR, 8);
    });
    EXPECT_EQ(IoCallDriver(bottom.device, control(bottom, METHOD_BUFFERED)),
              STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(KeReadStateEvent(&done), 1);
    EXPECT_EQ(status.Status, STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(output[0], 0);
}

// Tests that a system buffer larger than the input is zeroed behind it.
TEST_P(BuildRequest, OutputLargerThanInput_SystemBufferIsZeroed) {
    test_driver bottom([](DEVICE_OBJECT*, IRP* irp) {
        const auto* buffer = static_cast<const char*>(irp->AssociatedIrp.SystemBuffer);
        for (int i = 4; i < 8; ++i)
            EXPECT_EQ(buffer[i], 0);
        return complete(irp, STATUS_SUCCESS, 8);
    });
    IoCallDriver(bottom.device, control(bottom, METHOD_BUFFERED));
    EXPECT_EQ(output[3], 'g');
}

TEST_P(BuildRequest, InformationAboveOutputLength_IsReported) {
    test_driver bottom([](DEVICE_OBJECT*, IRP* irp) { return complete(irp, STATUS_SUCCESS, 9); });
    IRP* irp = control(bottom, METHOD_BUFFERED);
    const auto report = report_of([&] { IoCallDriver(bottom.device, irp); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    EXPECT_EQ(report->id, 0x312u);
    ExFreePool(irp->AssociatedIrp.SystemBuffer);
    IoFreeIrp(irp);
}

TEST_P(BuildRequest, NullDevice_IsReported) {
    EXPECT_EQ(bug_check_of([&] {
                  IoBuildDeviceIoControlRequest(code_of(METHOD_BUFFERED), nullptr, nullptr, 0,
                                                nullptr, 0, FALSE, nullptr, &status);
              }),
              DRIVER_VERIFIER_IOMANAGER_VIOLATION);
}

TEST_P(BuildRequest, DirectTransferMethod_MdlDescribesBuffer) {
    test_driver bottom([](DEVICE_OBJECT*, IRP* irp) {
        const MDL* mdl = irp->MdlAddress;
        EXPECT_EQ(MmGetMdlByteCount(mdl), 8u);
        EXPECT_EQ(MmGetMdlByteOffset(mdl),
                  reinterpret_cast<ULONG_PTR>(MmGetMdlVirtualAddress(mdl)) % PAGE_SIZE);
        EXPECT_TRUE(mdl->MdlFlags & MDL_PAGES_LOCKED);
        const ULONG code =
            IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.IoControlCode;
        EXPECT_EQ((mdl->MdlFlags & MDL_WRITE_OPERATION) != 0,
                  METHOD_FROM_CTL_CODE(code) == METHOD_OUT_DIRECT);
        IoAllocateMdl(irp, 1, TRUE, FALSE, irp); // the chain is freed with the request
        EXPECT_NE(mdl->Next, nullptr);
        return complete(irp, STATUS_SUCCESS);
    });
    IoCallDriver(bottom.device, control(bottom, METHOD_IN_DIRECT));
    IoCallDriver(bottom.device, control(bottom, METHOD_OUT_DIRECT));
}

// Tests that a request is not built at all when any of its allocations fails.
TEST_P(BuildRequest, AnyAllocationFails_ReturnsNull) {
    const test_driver driver(complete_at_once);
    int refused = 0;
    const auto ask = [&] {
        IRP* irp = control(driver, METHOD_IN_DIRECT);
        if (irp == nullptr)
            ++refused;
        else
            IoCallDriver(driver.device, irp);
    };
    using irpverbs::dispatch::sweep;
    const auto summary = irpverbs::dispatch::fault_sweep(ask, sweep::order::singles);
    EXPECT_EQ(summary.stacks, 3u) << "the packet, the buffer, the MDL";
    EXPECT_EQ(refused, 3);
}

// Tests that a waiting sender is woken when a system thread completes the request later.
TEST_P(BuildRequest, PendedRequestCompletes_EventIsSet) {
    IRP* pended = nullptr;
    test_driver bottom(pend, &pended);
    EXPECT_EQ(IoCallDriver(bottom.device, control(bottom, METHOD_BUFFERED)), STATUS_PENDING);
    EXPECT_EQ(KeReadStateEvent(&done), 0);
    system_thread other([&] {
        const at_dispatch_level raised; // the last completion stage works at DISPATCH_LEVEL
        complete(pended, STATUS_SUCCESS, 4);
    });
    EXPECT_EQ(wait_for(done), STATUS_SUCCESS);
    EXPECT_EQ(status.Information, 4u);
    EXPECT_EQ(std::memcmp(output.data(), "ping", 4), 0); // the input is not overwritten
}

// Tests that UserIosb and UserEvent set by the originator itself are honoured at the end.
TEST_P(BuildRequest, OwnIosbAndEvent_AreSetAtCompletion) {
    test_driver bottom(complete_at_once);
    IRP* irp = IoAllocateIrp(1, FALSE);
    irp->UserIosb = &status;
    irp->UserEvent = &done;
    IoCallDriver(bottom.device, irp);
    EXPECT_EQ(KeReadStateEvent(&done), 1);
    EXPECT_EQ(status.Status, STATUS_SUCCESS);
}

NTSTATUS serve_transfer(DEVICE_OBJECT* device, IRP* irp) {
    const IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(irp);
    if (location->MajorFunction == IRP_MJ_FLUSH_BUFFERS) {
        EXPECT_EQ(irp->UserBuffer, nullptr);
        return complete(irp, STATUS_SUCCESS);
    }
    EXPECT_EQ(location->Parameters.Read.Length, 4u);
    EXPECT_EQ(location->Parameters.Read.ByteOffset.QuadPart, 512);
    void* buffer = (device->Flags & DO_BUFFERED_IO) != 0 ? irp->AssociatedIrp.SystemBuffer
                   : (device->Flags & DO_DIRECT_IO) != 0
                       ? MmGetSystemAddressForMdlSafe(irp->MdlAddress, NormalPagePriority)
                       : irp->UserBuffer;
    if (location->MajorFunction == IRP_MJ_READ)
        std::memcpy(buffer, "data", 4);
    else
        EXPECT_EQ(std::memcmp(buffer, "ping", 4), 0);
    return complete(irp, STATUS_SUCCESS, 4);
}

TEST_P(BuildRequest, SynchronousFsdRequest_UsesDeviceBufferMethod) {
    test_driver bottom(serve_transfer);
    LARGE_INTEGER offset;
    offset.QuadPart = 512;
    for (const ULONG kind : {ULONG{0}, ULONG{DO_BUFFERED_IO}, ULONG{DO_DIRECT_IO}}) {
        bottom.device->Flags = kind;
        output = {};
        KeClearEvent(&done);
        EXPECT_EQ(IoCallDriver(bottom.device, IoBuildSynchronousFsdRequest(
                                                  IRP_MJ_READ, bottom.device, output.data(), 4,
                                                  &offset, &done, &status)),
                  STATUS_SUCCESS);
        EXPECT_EQ(wait_for(done), STATUS_SUCCESS);
        EXPECT_STREQ(output.data(), "data");
        EXPECT_EQ(status.Information, 4u);
        EXPECT_EQ(IoCallDriver(bottom.device, IoBuildSynchronousFsdRequest(
                                                  IRP_MJ_WRITE, bottom.device, input.data(), 4,
                                                  &offset, &done, &status)),
                  STATUS_SUCCESS);
    }
    IoCallDriver(bottom.device, IoBuildSynchronousFsdRequest(IRP_MJ_FLUSH_BUFFERS, bottom.device,
                                                             nullptr, 0, nullptr, &done, &status));
    EXPECT_EQ(status.Information, 0u);
}

// WDM's rule for the builder of an asynchronous request: its completion routine frees everything.
NTSTATUS free_transfer(DEVICE_OBJECT*, IRP* irp, void* information) {
    *static_cast<ULONG_PTR*>(information) = irp->IoStatus.Information;
    if ((irp->Flags & IRP_DEALLOCATE_BUFFER) != 0) ExFreePool(irp->AssociatedIrp.SystemBuffer);
    for (MDL* mdl = irp->MdlAddress; mdl != nullptr;) {
        MDL* next = mdl->Next;
        MmUnlockPages(mdl);
        IoFreeMdl(mdl);
        mdl = next;
    }
    IoFreeIrp(irp);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

TEST_P(BuildRequest, AsynchronousFsdRequest_IsFreedByOriginator) {
    test_driver bottom(serve_transfer);
    LARGE_INTEGER offset;
    offset.QuadPart = 512;
    for (const ULONG kind : {ULONG{0}, ULONG{DO_BUFFERED_IO}, ULONG{DO_DIRECT_IO}}) {
        bottom.device->Flags = kind;
        ULONG_PTR information = 0;
        IRP* irp = IoBuildAsynchronousFsdRequest(IRP_MJ_WRITE, bottom.device, input.data(), 4,
                                                 &offset, nullptr);
        IoSetCompletionRoutine(irp, free_transfer, &information, TRUE, TRUE, TRUE);
        IoCallDriver(bottom.device, irp);
        EXPECT_EQ(information, 4u);
    }
}

struct forwarded {
    BOOLEAN sent = FALSE;
    NTSTATUS status = STATUS_PENDING;
};

NTSTATUS forward_and_complete(DEVICE_OBJECT* device, IRP* irp) {
    auto& seen = test_driver::context_of<forwarded>(device);
    seen.sent = IoForwardIrpSynchronously(device->AttachedTo, irp);
    seen.status = irp->IoStatus.Status;
    return complete(irp, irp->IoStatus.Status, irp->IoStatus.Information + 1);
}

TEST_P(BuildRequest, IoForwardIrpSynchronously_ReturnsLowerStatus) {
    NTSTATUS return_status = STATUS_DEVICE_NOT_READY;
    test_driver bottom(complete_at_once, &return_status);
    forwarded seen;
    test_driver filter(forward_and_complete, bottom, &seen);
    outcome result;
    IRP* irp = recorded_request(filter.device, result);
    EXPECT_EQ(IoCallDriver(filter.device, irp), STATUS_DEVICE_NOT_READY);
    EXPECT_TRUE(seen.sent);
    EXPECT_EQ(seen.status, STATUS_DEVICE_NOT_READY);
    EXPECT_EQ(result.completions, 1);
    EXPECT_EQ(result.information, 1u);
    EXPECT_FALSE(result.pending_returned);
    IoFreeIrp(irp);
}

TEST_P(BuildRequest, ForwardWithoutNextLocation_ReturnsFalse) {
    test_driver bottom([](DEVICE_OBJECT* device, IRP* irp) {
        EXPECT_FALSE(IoForwardIrpSynchronously(device, irp));
        return complete(irp, STATUS_SUCCESS);
    });
    outcome result;
    IRP* irp = recorded_request(bottom.device, result);
    IoCallDriver(bottom.device, irp);
    IoFreeIrp(irp);
}

// Splits a request into as many associated IRPs as its context says, and sends them to the lower
// device.
NTSTATUS split(DEVICE_OBJECT* device, IRP* irp) {
    const LONG parts = test_driver::context_of<LONG>(device);
    IoMarkIrpPending(irp);
    irp->IoStatus = {{STATUS_SUCCESS}, 77};
    irp->AssociatedIrp.IrpCount = parts;
    for (LONG i = 0; i < parts; ++i) {
        IRP* part = IoMakeAssociatedIrp(irp, device->AttachedTo->StackSize);
        EXPECT_EQ(part->AssociatedIrp.MasterIrp, irp);
        EXPECT_TRUE(part->Flags & IRP_ASSOCIATED_IRP);
        IoCallDriver(device->AttachedTo, part);
    }
    return STATUS_PENDING;
}

TEST_P(BuildRequest, LastAssociatedIrpCompletes_MasterIrpCompletes) {
    IRP* pended = nullptr;
    test_driver bottom(pend, &pended);
    LONG parts = 1;
    test_driver top(split, bottom, &parts);
    outcome result;
    IRP* irp = recorded_request(top.device, result);
    EXPECT_EQ(IoCallDriver(top.device, irp), STATUS_PENDING);
    EXPECT_EQ(result.completions, 0);
    complete(pended, STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(result.completions, 1);
    // the master's own result; combining the parts' results is up to completion routines
    EXPECT_EQ(result.status, STATUS_SUCCESS);
    EXPECT_EQ(result.information, 77u);
    EXPECT_TRUE(result.pending_returned);
    IoFreeIrp(irp);
}

TEST_P(BuildRequest, AssociatedIrpsCompleteInline_MasterIrpCompletesOnce) {
    test_driver bottom(complete_at_once);
    LONG parts = 3;
    test_driver top(split, bottom, &parts);
    outcome result;
    IRP* irp = recorded_request(top.device, result);
    IoCallDriver(top.device, irp);
    EXPECT_EQ(result.completions, 1);
    IoFreeIrp(irp);
}

IRPVERBS_ON_BOTH_MACHINES(BuildRequest);

// Collects the requests that it receives.
struct collector {
    std::array<IRP*, 2> held{};
    std::size_t count = 0;
    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp) {
        auto& self = test_driver::context_of<collector>(device);
        IoMarkIrpPending(irp);
        self.held.at(self.count++) = irp;
        return STATUS_PENDING;
    }
};

// Two actors complete the two parts of one request: the request completes once, after both.
TEST(BuildRequestRaces, TwoAssociatedIrpsCompleteConcurrently_MasterCompletesOnce) {
    expect_exhausted(thorough(), [](sim_machine& sim) {
        collector below;
        test_driver bottom(collector::dispatch, &below);
        LONG parts = 2;
        test_driver top(split, bottom, &parts);
        outcome result;
        IRP* irp = recorded_request(top.device, result);
        IoCallDriver(top.device, irp);
        int completed = 0;
        for (IRP* part : below.held)
            sim.spawn("completer", [&, part] {
                complete(part, STATUS_SUCCESS);
                if (++completed == 2) {
                    EXPECT_EQ(result.completions, 1);
                }
            });
        sim.run();
        EXPECT_EQ(result.completions, 1);
        IoFreeIrp(irp);
    });
}

// A lower driver pends the requests that a filter forwards, and another actor completes them at any
// time.
TEST(BuildRequestRaces, ForwardRacesWithCompletion_CompletesOnce) {
    expect_exhausted(thorough(), [](sim_machine& sim) {
        IRP* pended = nullptr;
        test_driver bottom(pend, &pended);
        forwarded seen;
        test_driver filter(forward_and_complete, bottom, &seen);
        outcome result;
        IRP* irp = recorded_request(filter.device, result);
        sim.spawn("forward", [&] { IoCallDriver(filter.device, irp); });
        sim.spawn("complete", [&] {
            while (pended == nullptr)
                sim.yield();
            complete(pended, STATUS_SUCCESS, 6);
        });
        sim.run();
        EXPECT_TRUE(seen.sent);
        EXPECT_EQ(result.completions, 1);
        EXPECT_EQ(result.information, 7u);
        IoFreeIrp(irp);
    });
}

// A sender whose event and IOSB are on its stack returns as soon as the event is set: neither is
// accessed afterwards.
TEST(BuildRequestRaces, SenderReturnsOnEvent_EventAndIosbNotAccessedAfterwards) {
    expect_exhausted(thorough(), [](sim_machine& sim) {
        IRP* pended = nullptr;
        test_driver bottom(pend, &pended);
        sim.spawn("send", [&] {
            KEVENT done;
            KeInitializeEvent(&done, NotificationEvent, FALSE);
            IO_STATUS_BLOCK status{};
            std::string output(4, '.');
            IRP* irp =
                IoBuildDeviceIoControlRequest(code_of(METHOD_BUFFERED), bottom.device, nullptr, 0,
                                              output.data(), 4, TRUE, &done, &status);
            EXPECT_EQ(IoCallDriver(bottom.device, irp), STATUS_PENDING);
            wait_for(done);
            EXPECT_EQ(status.Information, 4u);
            EXPECT_EQ(output, "done");
        });
        sim.spawn("complete", [&] {
            while (pended == nullptr)
                sim.yield();
            std::memcpy(pended->AssociatedIrp.SystemBuffer, "done", 4);
            complete(pended, STATUS_SUCCESS, 4);
        });
        sim.run();
    });
}

} // namespace
