// Completion ports: each posted packet is removed once, by any remover; and the close of a port.
#include <support/both_machines.hpp>
#include <support/exhaustive_gtest.hpp>
#include <support/irp_stack.hpp>

#include <dispatch/testing/fault_sweep.hpp>

#include <array>
#include <map>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

using packet = FILE_IO_COMPLETION_INFORMATION;

LARGE_INTEGER at_once() {
    LARGE_INTEGER none;
    none.QuadPart = 0;
    return none;
}

// Keys and contexts of the tests: arbitrary addresses.
void* name(ULONG_PTR value) { return reinterpret_cast<void*>(value); }

struct owned_port {
    PVOID port = nullptr;
    explicit owned_port(ULONG count = 4) {
        EXPECT_EQ(IoCreateIoCompletion(&port, count), STATUS_SUCCESS);
    }
    ~owned_port() { close(); }
    void close() {
        if (port != nullptr) IoCloseIoCompletion(std::exchange(port, nullptr));
    }
    owned_port(const owned_port&) = delete;
    owned_port& operator=(const owned_port&) = delete;

    PIO_COMPLETION_CONTEXT context(void* key) const {
        PIO_COMPLETION_CONTEXT made = nullptr;
        EXPECT_EQ(IoCreateCompletionContext(port, key, &made), STATUS_SUCCESS);
        return made;
    }
    NTSTATUS post(ULONG_PTR value) const {
        return IoSetIoCompletion(port, name(value), nullptr, STATUS_SUCCESS, value, FALSE);
    }
    NTSTATUS remove(packet& into, LARGE_INTEGER* timeout) const {
        return IoRemoveIoCompletion(port, &into.KeyContext, &into.ApcContext, &into.IoStatusBlock,
                                    timeout);
    }
    std::vector<packet> remove_ready(ULONG most) const {
        std::vector<packet> all(most);
        ULONG count = 0;
        LARGE_INTEGER none = at_once();
        const NTSTATUS status =
            IoRemoveIoCompletionEx(port, all.data(), most, &count, &none, FALSE);
        EXPECT_EQ(status, count != 0 ? STATUS_SUCCESS : STATUS_TIMEOUT);
        all.resize(count);
        return all;
    }
};

// Allocates an IRP without a completion routine, ready to be sent and then posted.
IRP* posted_request(DEVICE_OBJECT* device, PIO_COMPLETION_CONTEXT context, void* apc_context) {
    IRP* irp = IoAllocateIrp(device->StackSize, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoSetCompletionContext(irp, context, apc_context);
    return irp;
}

class CompletionPort : public BothMachines {
protected:
    owned_port port;
    packet got{};
    LARGE_INTEGER none = at_once();
};

TEST_P(CompletionPort, CompletedIrp_PacketHasKeyContextAndStatus) {
    test_driver bottom(
        [](DEVICE_OBJECT*, IRP* irp) { return complete(irp, STATUS_BUFFER_OVERFLOW, 17); });
    IRP* irp = posted_request(bottom.device, port.context(name(7)), name(9));
    EXPECT_EQ(IoCallDriver(bottom.device, irp), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(IoQueryIoCompletion(port.port), 1);
    EXPECT_EQ(port.remove(got, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(got.KeyContext, name(7));
    EXPECT_EQ(got.ApcContext, name(9));
    EXPECT_EQ(got.IoStatusBlock.Status, STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(got.IoStatusBlock.Information, 17u);
    IoFreeIrp(irp); // the originator owns it again
}

// Tests that an IRP that fails inside the call is posted too: every result arrives as a packet.
TEST_P(CompletionPort, FailureInsideCall_IsPosted) {
    NTSTATUS return_status = STATUS_DEVICE_NOT_READY;
    test_driver bottom(complete_at_once, &return_status);
    IRP* irp = posted_request(bottom.device, port.context(nullptr), nullptr);
    EXPECT_EQ(IoCallDriver(bottom.device, irp), return_status);
    EXPECT_EQ(port.remove(got, &none), STATUS_SUCCESS);
    EXPECT_EQ(got.IoStatusBlock.Status, return_status);
    IoFreeIrp(irp);
}

TEST_P(CompletionPort, OriginatorCompletionRoutine_RunsFirstAndMayKeepIrp) {
    test_driver bottom(complete_at_once);
    for (const NTSTATUS return_status :
         {STATUS_CONTINUE_COMPLETION, STATUS_MORE_PROCESSING_REQUIRED}) {
        outcome result;
        result.return_status = return_status;
        IRP* irp = posted_request(bottom.device, port.context(nullptr), nullptr);
        IoSetCompletionRoutine(irp, record_outcome, &result, TRUE, TRUE, TRUE);
        IoCallDriver(bottom.device, irp);
        EXPECT_EQ(result.completions, 1);
        EXPECT_EQ(IoQueryIoCompletion(port.port),
                  return_status == STATUS_CONTINUE_COMPLETION ? 1 : 0);
        if (return_status == STATUS_MORE_PROCESSING_REQUIRED) {
            // a location of the originator's own; completing it posts the IRP
            IoSetNextIrpStackLocation(irp);
            IoCompleteRequest(irp, IO_NO_INCREMENT);
        }
        EXPECT_EQ(port.remove(got, &none), STATUS_SUCCESS);
        IoFreeIrp(irp);
    }
}

TEST_P(CompletionPort, ReusedIrp_IsPostedEachTime) {
    IRP* pended = nullptr;
    test_driver bottom(pend, &pended);
    PIO_COMPLETION_CONTEXT context = port.context(name(1));
    IRP* irp = IoAllocateIrp(1, FALSE);
    for (ULONG_PTR i = 0; i < 5; ++i) {
        IoReuseIrp(irp, STATUS_SUCCESS);
        IoSetCompletionContext(irp, context, name(i));
        EXPECT_EQ(IoCallDriver(bottom.device, irp), STATUS_PENDING);
        EXPECT_EQ(port.remove(got, &none), STATUS_TIMEOUT);
        complete(pended, STATUS_SUCCESS, i);
        EXPECT_EQ(port.remove(got, &none), STATUS_SUCCESS);
        EXPECT_EQ(got.ApcContext, name(i));
    }
    IoFreeIrp(irp);
}

// Tests the device's port: a built request without an event is posted after its IOSB is written.
TEST_P(CompletionPort, DeviceAssociated_PostsRequestsWithoutEvent) {
    test_driver bottom([](DEVICE_OBJECT*, IRP* irp) {
        static_cast<char*>(irp->AssociatedIrp.SystemBuffer)[0] = 'y';
        return complete(irp, STATUS_SUCCESS, 1);
    });
    EXPECT_EQ(IoAssociateDevice(bottom.device, port.port, name(3)), STATUS_SUCCESS);
    EXPECT_EQ(IoAssociateDevice(bottom.device, port.port, name(4)), STATUS_INVALID_PARAMETER);
    IO_STATUS_BLOCK status{};
    char output = 'n';
    constexpr ULONG code = CTL_CODE(FILE_DEVICE_UNKNOWN, 1, METHOD_BUFFERED, FILE_ANY_ACCESS);
    IoCallDriver(bottom.device, IoBuildDeviceIoControlRequest(code, bottom.device, nullptr, 0,
                                                              &output, 1, TRUE, nullptr, &status));
    EXPECT_EQ(status.Information, 1u);
    EXPECT_EQ(output, 'y');
    EXPECT_EQ(port.remove(got, &none), STATUS_SUCCESS);
    EXPECT_EQ(got.KeyContext, name(3));
    EXPECT_EQ(got.ApcContext, &status);

    KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    IoCallDriver(bottom.device, IoBuildDeviceIoControlRequest(code, bottom.device, nullptr, 0,
                                                              &output, 1, TRUE, &done, &status));
    EXPECT_EQ(KeReadStateEvent(&done), 1); // a request with an event of its own is not posted
    EXPECT_EQ(IoQueryIoCompletion(port.port), 0);
}

TEST_P(CompletionPort, ManyPackets_RemovedInOrder) {
    for (ULONG_PTR i = 0; i < 200; ++i)
        EXPECT_EQ(port.post(i), STATUS_SUCCESS);
    ULONG_PTR next = 0;
    for (const ULONG most : {1u, 64u, 65u, 500u})
        for (const packet& each : port.remove_ready(most)) {
            EXPECT_EQ(each.IoStatusBlock.Information, next);
            EXPECT_EQ(each.KeyContext, name(next++));
        }
    EXPECT_EQ(next, 200u);
    EXPECT_TRUE(port.remove_ready(1).empty());
}

TEST_P(CompletionPort, RemoveZeroPackets_ReturnsInvalidParameter) {
    ULONG count = 1;
    EXPECT_EQ(IoRemoveIoCompletionEx(port.port, &got, 0, &count, &none, FALSE),
              STATUS_INVALID_PARAMETER);
}

TEST_P(CompletionPort, RemoveFromEmptyPort_TimesOut) {
    LARGE_INTEGER soon;
    soon.QuadPart = -10'000;
    EXPECT_EQ(port.remove(got, &soon), STATUS_TIMEOUT);
}

TEST_P(CompletionPort, RemoveFromEmptyPort_WaitsForPacket) {
    KEVENT waiting;
    KeInitializeEvent(&waiting, NotificationEvent, FALSE);
    packet seen{};
    system_thread other([&] {
        KeSetEvent(&waiting, IO_NO_INCREMENT, FALSE);
        EXPECT_EQ(port.remove(seen, nullptr), STATUS_SUCCESS);
    });
    KeWaitForSingleObject(&waiting, Executive, KernelMode, FALSE, nullptr);
    {
        const at_dispatch_level raised;
        EXPECT_EQ(port.post(12), STATUS_SUCCESS);
    }
    other.join();
    EXPECT_EQ(seen.KeyContext, name(12));
}

TEST_P(CompletionPort, Close_WakesWaiters) {
    const PVOID closing = std::exchange(port.port, nullptr);
    KEVENT inside;
    KeInitializeEvent(&inside, NotificationEvent, FALSE);
    system_thread other([&] {
        KeSetEvent(&inside, IO_NO_INCREMENT, FALSE);
        packet seen{};
        NTSTATUS status = STATUS_SUCCESS;
        while (status == STATUS_SUCCESS)
            status = IoRemoveIoCompletion(closing, &seen.KeyContext, &seen.ApcContext,
                                          &seen.IoStatusBlock, nullptr);
        // The second status: it had not begun to wait.
        EXPECT_TRUE(status == STATUS_ABANDONED_WAIT_0 || status == STATUS_INVALID_HANDLE);
    });
    PIO_COMPLETION_CONTEXT keeper = nullptr; // an IRP in progress keeps the port until its end
    IoCreateCompletionContext(closing, nullptr, &keeper);
    IRP* pended = nullptr;
    test_driver bottom(pend, &pended);
    IoCallDriver(bottom.device, posted_request(bottom.device, keeper, nullptr));
    KeWaitForSingleObject(&inside, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(IoCloseIoCompletion(closing), STATUS_SUCCESS);
    other.join();
    complete(pended, STATUS_SUCCESS);
}

// A handle may be stale or arbitrary: nothing is read through it.
TEST_P(CompletionPort, HandleOfClosedPort_IsInvalidForEveryCall) {
    test_driver bottom(complete_at_once);
    const PVOID stale = std::exchange(port.port, nullptr);
    EXPECT_EQ(IoCloseIoCompletion(stale), STATUS_SUCCESS);
    const owned_port successor; // in the same slot of the table
    for (const PVOID handle : {stale, PVOID{}, name(12345), name(~ULONG_PTR{0})}) {
        PIO_COMPLETION_CONTEXT context = nullptr;
        ULONG count = 0;
        EXPECT_EQ(IoCloseIoCompletion(handle), STATUS_INVALID_HANDLE);
        EXPECT_EQ(IoCreateCompletionContext(handle, nullptr, &context), STATUS_INVALID_HANDLE);
        EXPECT_EQ(IoAssociateDevice(bottom.device, handle, nullptr), STATUS_INVALID_HANDLE);
        EXPECT_EQ(IoSetIoCompletion(handle, nullptr, nullptr, 0, 0, FALSE), STATUS_INVALID_HANDLE);
        EXPECT_EQ(IoRemoveIoCompletion(handle, &got.KeyContext, &got.ApcContext, &got.IoStatusBlock,
                                       nullptr),
                  STATUS_INVALID_HANDLE);
        EXPECT_EQ(IoRemoveIoCompletionEx(handle, &got, 1, &count, nullptr, FALSE),
                  STATUS_INVALID_HANDLE);
        EXPECT_EQ(IoQueryIoCompletion(handle), 0);
        EXPECT_EQ(IoCompletionEventFd(handle), -1);
    }
    EXPECT_EQ(successor.post(1), STATUS_SUCCESS);
}

// Tests that packets left at the close, and packets posted later, are freed (a sanitizer reports
// leaks).
TEST_P(CompletionPort, CloseWithPacketsQueued_FreesPackets) {
    IRP* pended = nullptr;
    test_driver bottom(pend, &pended);
    test_driver quick(complete_at_once);
    PIO_COMPLETION_CONTEXT context = port.context(nullptr);
    EXPECT_EQ(IoAssociateDevice(bottom.device, port.port, nullptr), STATUS_SUCCESS);
    IoCallDriver(bottom.device, posted_request(bottom.device, context, nullptr));
    IoCallDriver(quick.device, posted_request(quick.device, context, nullptr));
    port.post(1);
    port.post(2);
    port.close();
    complete(pended, STATUS_SUCCESS);
}

TEST_P(CompletionPort, PacketsQueued_DescriptorIsReadable) {
    port.post(1);
    const int descriptor = IoCompletionEventFd(port.port);
    EXPECT_EQ(IoCompletionEventFd(port.port), descriptor);
    const auto readable = [&] {
        pollfd poll_for{descriptor, POLLIN, 0};
        return poll(&poll_for, 1, 0) == 1;
    };
    EXPECT_TRUE(readable());
    port.post(2);
    EXPECT_EQ(port.remove_ready(1).size(), 1u);
    EXPECT_TRUE(readable());
    EXPECT_EQ(port.remove_ready(5).size(), 1u);
    EXPECT_FALSE(readable());
    port.post(3);
    EXPECT_TRUE(readable());
}

// The other form: the IRP itself is inserted in a queue of the originator's own.
TEST_P(CompletionPort, IoSetCompletionQueue_InsertsIrpInOwnQueue) {
    test_driver bottom(complete_at_once);
    KQUEUE queue;
    KeInitializeQueue(&queue, 1);
    IRP* irp = IoAllocateIrp(1, FALSE);
    IoSetCompletionQueue(irp, &queue);
    IoCallDriver(bottom.device, irp);
    PLIST_ENTRY entry = KeRemoveQueue(&queue, KernelMode, &none);
    EXPECT_EQ(entry, &irp->Tail.Overlay.ListEntry);
    KeRundownQueue(&queue);
    IoFreeIrp(irp);
}

// Each allocating call fails once and returns a failure status; everything allocated before is
// freed.
TEST_P(CompletionPort, EachAllocationFails_ReturnsFailureStatus) {
    std::map<std::string, int> failed;
    const auto note = [&](const char* call, bool it_failed) { failed[call] += it_failed; };
    DRIVER_OBJECT driver{};
    const auto use_port = [&](PVOID made) {
        PIO_COMPLETION_CONTEXT context = nullptr;
        note("IoCreateCompletionContext",
             IoCreateCompletionContext(made, nullptr, &context) == STATUS_INSUFFICIENT_RESOURCES);
        note("IoSetIoCompletion", IoSetIoCompletion(made, nullptr, nullptr, 0, 0, FALSE) ==
                                      STATUS_INSUFFICIENT_RESOURCES);
        note("IoCompletionEventFd", IoCompletionEventFd(made) == -1);
        DEVICE_OBJECT* device = nullptr;
        if (!NT_SUCCESS(
                IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device)))
            return;
        note("IoAssociateDevice",
             IoAssociateDevice(device, made, nullptr) == STATUS_INSUFFICIENT_RESOURCES);
        IoDeleteDevice(device);
    };
    const auto make_and_use = [&] {
        PVOID made = nullptr;
        const NTSTATUS status = IoCreateIoCompletion(&made, 1);
        note("IoCreateIoCompletion", status == STATUS_INSUFFICIENT_RESOURCES);
        if (!NT_SUCCESS(status)) return;
        use_port(made);
        IoCloseIoCompletion(made);
    };
    irpverbs::dispatch::fault_sweep(make_and_use, irpverbs::dispatch::sweep::order::singles);
    for (const char* call : {"IoCreateIoCompletion", "IoCreateCompletionContext",
                             "IoAssociateDevice", "IoCompletionEventFd"})
        EXPECT_EQ(failed[call], 1) << call;
    EXPECT_EQ(failed["IoSetIoCompletion"], 2) << "the list, and the pool below it";
}

IRPVERBS_ON_BOTH_MACHINES(CompletionPort);

// An IRP and a packet are posted, two actors remove: each packet is removed once, and no remover
// waits for ever.
TEST(CompletionPortRaces, PostRacesWithRemove_EachPacketIsRemovedOnce) {
    expect_exhausted(thorough(200'000), [](sim_machine& sim) {
        test_driver bottom(complete_at_once);
        owned_port port(2);
        IRP* sent = posted_request(bottom.device, port.context(nullptr), name(0));
        std::array<int, 2> seen{};
        sim.spawn("sender", [&] { IoCallDriver(bottom.device, sent); });
        sim.spawn("poster", [&] {
            IoSetIoCompletion(port.port, nullptr, name(1), STATUS_SUCCESS, 0, FALSE);
        });
        for (int remover = 0; remover < 2; ++remover)
            sim.spawn("remover", [&] {
                packet got{};
                EXPECT_EQ(port.remove(got, nullptr), STATUS_SUCCESS);
                ++seen.at(reinterpret_cast<ULONG_PTR>(got.ApcContext));
            });
        sim.run();
        EXPECT_EQ(seen, (std::array{1, 1}));
        IoFreeIrp(sent);
    });
}

// A close strands no waiter, sender or poster; no memory is freed twice.
TEST(CompletionPortRaces, CloseRacesWithPostAndRemove_NoWaiterHangs) {
    explore_options options = thorough(200'000);
    options.required_probes = {"port.packet_after_close"};
    expect_exhausted(options, [](sim_machine& sim) {
        IRP* pended = nullptr;
        test_driver bottom(pend, &pended);
        owned_port port(1);
        PIO_COMPLETION_CONTEXT context = port.context(nullptr);
        IRP* irp = posted_request(bottom.device, context, nullptr);
        IoCallDriver(bottom.device, irp);
        bool removed = false;
        const PVOID handle = port.port;
        // This association keeps the port while the actors use it, as a program's own handles do.
        EXPECT_EQ(IoAssociateDevice(bottom.device, handle, nullptr), STATUS_SUCCESS);
        sim.spawn("complete", [&] { complete(pended, STATUS_SUCCESS); });
        for (int remover = 0; remover < 2; ++remover)
            sim.spawn("remover", [&] {
                packet got{};
                const NTSTATUS status = IoRemoveIoCompletion(
                    handle, &got.KeyContext, &got.ApcContext, &got.IoStatusBlock, nullptr);
                EXPECT_TRUE(status == STATUS_SUCCESS || status == STATUS_ABANDONED_WAIT_0 ||
                            status == STATUS_INVALID_HANDLE);
                if (status == STATUS_SUCCESS) removed = true;
            });
        sim.spawn("close", [&] { port.close(); });
        sim.run();
        if (removed) IoFreeIrp(irp);
    });
}

// The descriptor is readable whenever a packet is queued.
TEST(CompletionPortRaces, PostRacesWithRemove_DescriptorReadableWhilePacketQueued) {
    expect_exhausted(thorough(200'000), [](sim_machine& sim) {
        owned_port port(2);
        int descriptor = -1;
        sim.spawn("open", [&] { descriptor = IoCompletionEventFd(port.port); });
        for (ULONG_PTR i = 1; i <= 2; ++i)
            sim.spawn("post", [&, i] { port.post(i); });
        sim.spawn("remove", [&] { port.remove_ready(1); });
        sim.run();
        pollfd poll_for{descriptor, POLLIN, 0};
        const bool readable = poll(&poll_for, 1, 0) == 1;
        EXPECT_TRUE(readable || IoQueryIoCompletion(port.port) == 0);
    });
}

} // namespace
