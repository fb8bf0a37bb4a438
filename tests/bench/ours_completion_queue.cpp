// Completions removed in batches: from a device's ring, and from a queue that threads wait on.
#include "measurements.hpp"
#include "ours_stack.hpp"

#include <array>
#include <cstring>
#include <memory>

namespace irpverbs::bench {
namespace {

constexpr std::size_t batch = 32;

// A device that answers through a ring in memory, as hardware does; each entry has the address of
// its request. A request that the hardware owns can't be cancelled.
struct completion_ring {
    struct entry {
        PIRP request;
        ULONG status;
        ULONG bytes;
    };
    std::array<entry, batch> entries{};
    std::size_t filled = 0;

    void drain() {
        for (std::size_t i = 0; i < filled; ++i) {
            const entry& each = entries[i];
            complete(each.request, each.status ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS, each.bytes);
        }
        filled = 0;
    }
};

BENCH_OPAQUE NTSTATUS post_to_ring(PDEVICE_OBJECT device, PIRP irp) {
    auto* ring = static_cast<completion_ring*>(context_of(device));
    IoMarkIrpPending(irp);
    ring->entries[ring->filled++] = {irp, 0, static_cast<ULONG>(result_information)};
    return STATUS_PENDING;
}

void ring_32(run& sample) {
    completion_ring ring;
    const device_stack stack(post_to_ring, 0, &ring);
    std::vector<std::unique_ptr<packet>> packets;
    for (std::size_t i = 0; i < batch; ++i)
        packets.push_back(std::make_unique<packet>(stack.top()));
    std::uint64_t sum = 0;
    const std::uint64_t operations = sample.in_batches_of(batch);
    sample.start();
    for (std::uint64_t i = 0; i < operations; i += batch) {
        for (const auto& each : packets)
            each->send(count_and_keep, &sum);
        clobber_memory();
        ring.drain();
    }
    sample.stop();
    expect(sum == operations * result_information, "ours/ring_32");
}

// The limit of ring_32: the same writes to the same memory and the same two calls through tables,
// without the library, so without any check.
void bare_ring_32(run& sample) {
    completion_ring ring;
    const device_stack stack(post_to_ring, 0, &ring);
    std::vector<std::unique_ptr<packet>> packets;
    for (std::size_t i = 0; i < batch; ++i)
        packets.push_back(std::make_unique<packet>(stack.top()));
    const auto send = [&stack](PIRP irp, std::uint64_t& sum) {
        auto* location = reinterpret_cast<PIO_STACK_LOCATION>(irp + 1);
        const CSHORT type = irp->Type;
        const USHORT size = irp->Size;
        std::memset(static_cast<void*>(irp), 0, 64);
        std::memset(reinterpret_cast<char*>(irp) + 64, 0, 64);
        std::memset(static_cast<void*>(location), 0, sizeof *location);
        irp->Type = type;
        irp->Size = size;
        irp->StackCount = irp->CurrentLocation = 1;
        location->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        location->Parameters.DeviceIoControl.IoControlCode = 7;
        location->CompletionRoutine = count_and_keep;
        location->Context = &sum;
        location->Control = 0xE0;
        location->DeviceObject = stack.top();
        stack.top()->DriverObject->MajorFunction[location->MajorFunction](stack.top(), irp);
    };
    const auto complete_all = [&ring] {
        for (std::size_t i = 0; i < ring.filled; ++i) {
            PIRP irp = ring.entries[i].request;
            auto* location = reinterpret_cast<PIO_STACK_LOCATION>(irp + 1);
            irp->IoStatus.Status = STATUS_SUCCESS;
            irp->IoStatus.Information = ring.entries[i].bytes;
            const PIO_COMPLETION_ROUTINE routine = location->CompletionRoutine;
            location->Control = 0;
            location->CompletionRoutine = nullptr;
            irp->CurrentLocation = 2;
            routine(nullptr, irp, location->Context);
        }
        ring.filled = 0;
    };
    std::uint64_t sum = 0;
    const std::uint64_t operations = sample.in_batches_of(batch);
    sample.start();
    for (std::uint64_t i = 0; i < operations; i += batch) {
        for (const auto& each : packets)
            send(each->irp(), sum);
        clobber_memory();
        complete_all();
    }
    sample.stop();
    for (const auto& each : packets)
        IoReuseIrp(each->irp(), STATUS_SUCCESS);
    expect(sum == operations * result_information, "ours/ring_bare_32");
}

// Entries without IRPs, posted one by one and removed as one batch.
void completion_queue_32(run& sample) {
    KQUEUE queue;
    KeInitializeQueue(&queue, 1);
    std::array<LIST_ENTRY, batch> posted;
    std::array<PLIST_ENTRY, batch> removed;
    LARGE_INTEGER at_once;
    at_once.QuadPart = 0;
    std::uint64_t count = 0;
    const std::uint64_t operations = sample.in_batches_of(batch);
    sample.start();
    for (std::uint64_t i = 0; i < operations; i += batch) {
        for (LIST_ENTRY& each : posted)
            KeInsertQueue(&queue, &each);
        count += KeRemoveQueueEx(&queue, KernelMode, FALSE, &at_once, removed.data(), batch);
    }
    sample.stop();
    KeRundownQueue(&queue);
    expect(count == operations, "ours/completion_queue_32");
}

// IRPs sent, completed inside the call, posted to a port, and removed as one batch.
void completion_port_32(run& sample) {
    PVOID port = nullptr;
    PIO_COMPLETION_CONTEXT context = nullptr;
    IoCreateIoCompletion(&port, 1);
    IoCreateCompletionContext(port, nullptr, &context);
    const device_stack stack(complete_at_once);
    std::vector<std::unique_ptr<packet>> packets;
    for (std::size_t i = 0; i < batch; ++i)
        packets.push_back(std::make_unique<packet>(stack.top()));
    std::array<FILE_IO_COMPLETION_INFORMATION, batch> removed;
    LARGE_INTEGER at_once;
    at_once.QuadPart = 0;
    std::uint64_t count = 0;
    const std::uint64_t operations = sample.in_batches_of(batch);
    sample.start();
    for (std::uint64_t i = 0; i < operations; i += batch) {
        for (const auto& each : packets) {
            IoReuseIrp(each->irp(), STATUS_SUCCESS);
            IoSetCompletionContext(each->irp(), context, each.get());
            packet::send_prepared(stack.top(), each->irp(), nullptr, nullptr);
        }
        ULONG taken = 0;
        IoRemoveIoCompletionEx(port, removed.data(), batch, &taken, &at_once, FALSE);
        count += taken;
    }
    sample.stop();
    IoCloseIoCompletion(port);
    expect(count == operations, "ours/completion_port_32");
}

} // namespace

void add_ours_completion_queue(catalog& all) {
    all.add("ours/ring_32", "sent, answered through a ring of 32, completed, callback", ring_32);
    all.add("ours/ring_bare_32", "the same writes and calls without the library", bare_ring_32);
    all.add("ours/completion_queue_32", "inserted in a KQUEUE, 32 removed at once",
            completion_queue_32);
    all.add("ours/completion_port_32", "sent, completed, posted to a port, 32 removed at once",
            completion_port_32);
}

} // namespace irpverbs::bench
