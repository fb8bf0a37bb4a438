// Requests that complete inside the call.
#include "measurements.hpp"
#include "ours_stack.hpp"

namespace irpverbs::bench {
namespace {

static_assert(sizeof(IRP) <= 128, "the header is two cache lines");
static_assert(sizeof(IO_STACK_LOCATION) <= 64, "a stack location is one");

template <int Levels>
void levels(run& sample) {
    const device_stack stack(complete_at_once, Levels - 1);
    packet request(stack.top());
    std::uint64_t sum = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i)
        request.send(count_and_keep, &sum);
    sample.stop();
    expect(sum == operations * result_information, "ours/sync");
}

// The book-keeping of NT's I/O manager for each request: while it is outstanding, the packet is in
// its thread's list, and the file (here the device, by its remove lock) is referenced.
struct bookkeeping {
    LIST_ENTRY packets_of_thread;
    IO_REMOVE_LOCK in_use;

    bookkeeping() {
        InitializeListHead(&packets_of_thread);
        IoInitializeRemoveLock(&in_use, 0, 0, 0);
    }
};

void nt_book_keeping(run& sample) {
    const device_stack stack(complete_at_once);
    const packet request(stack.top());
    const PIRP irp = request.irp();
    bookkeeping books;
    std::uint64_t sum = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        IoReuseIrp(irp, STATUS_SUCCESS);
        IoAcquireRemoveLock(&books.in_use, irp);
        InsertHeadList(&books.packets_of_thread, &irp->Tail.Overlay.ListEntry);
        packet::send_prepared(stack.top(), irp, count_and_keep, &sum);
        RemoveEntryList(&irp->Tail.Overlay.ListEntry);
        IoReleaseRemoveLock(&books.in_use, irp);
    }
    sample.stop();
    expect(sum == operations * result_information, "ours/sync_nt");
}

void from_lookaside(run& sample) {
    const device_stack stack(complete_at_once);
    std::uint64_t sum = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        PIRP irp = IoAllocateIrp(1, FALSE);
        packet::send_prepared(stack.top(), irp, count_and_keep, &sum);
        IoFreeIrp(irp);
    }
    sample.stop();
    expect(sum == operations * result_information, "ours/sync_lookaside");
}

} // namespace

void add_ours_synchronous(catalog& all) {
    all.add("ours/sync_1", "sent, completed at once, callback; packet reused", levels<1>);
    all.add("ours/sync_2", "the same through a filter with a completion routine", levels<2>);
    all.add("ours/sync_3", "the same through two filters", levels<3>);
    all.add("ours/sync_nt", "sync_1, on the thread's list and with a remove lock held",
            nt_book_keeping);
    all.add("ours/sync_lookaside", "sync_1 with the packet allocated and freed each time",
            from_lookaside);
}

} // namespace irpverbs::bench
