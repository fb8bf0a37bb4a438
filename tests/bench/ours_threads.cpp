// Requests passed to another thread and back through the library's interlocked lists and events.
#include "measurements.hpp"
#include "ours_stack.hpp"
#include "two_threads.hpp"

#include <memory>

namespace irpverbs::bench {
namespace {

// A list of packets for another thread, with many producers and one consumer.
class alignas(far_apart) packet_stack {
public:
    packet_stack() { InitializeSListHead(&list_); }
    void push(PIRP irp) {
        InterlockedPushEntrySList(&list_, reinterpret_cast<PSLIST_ENTRY>(link_of(irp)));
    }
    // Calls take(irp) for each packet in the list; returns whether there was one.
    template <class Take>
    bool take_all(Take take) {
        PSLIST_ENTRY next = InterlockedFlushSList(&list_);
        const bool some = next != nullptr;
        while (next != nullptr) {
            PIRP irp = CONTAINING_RECORD(next, IRP, Tail.Overlay.ListEntry);
            next = next->Next;
            take(irp);
        }
        return some;
    }

private:
    static PLIST_ENTRY link_of(PIRP irp) { return &irp->Tail.Overlay.ListEntry; }
    SLIST_HEADER list_;
};

void complete_with_result(PIRP irp) { complete(irp, STATUS_SUCCESS, result_information); }

// A driver with its own thread: the dispatch routine pushes the packet, the thread completes it.
BENCH_OPAQUE NTSTATUS to_worker(PDEVICE_OBJECT device, PIRP irp) {
    IoMarkIrpPending(irp);
    static_cast<packet_stack*>(context_of(device))->push(irp);
    return STATUS_PENDING;
}

BENCH_OPAQUE NTSTATUS to_origin(PDEVICE_OBJECT, PIRP irp, PVOID context) {
    static_cast<packet_stack*>(context)->push(irp);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// Keeps `Outstanding` requests outstanding; each completed packet is sent again.
template <std::uint64_t Outstanding>
void window(run& sample) {
    packet_stack out, back;
    const device_stack stack(to_worker, 0, &out);
    std::vector<std::unique_ptr<packet>> packets;
    for (std::uint64_t i = 0; i < Outstanding; ++i)
        packets.push_back(std::make_unique<packet>(stack.top()));
    const std::uint64_t operations = sample.operations();
    std::atomic<bool> over{false};
    on_two_processors(
        sample,
        [&] {
            std::uint64_t sent = 0, come = 0;
            for (; sent < Outstanding && sent < operations; ++sent)
                packets[sent]->send(to_origin, &back);
            const auto completed = [&](PIRP irp) {
                ++come;
                if (sent == operations) return;
                ++sent;
                IoReuseIrp(irp, STATUS_SUCCESS);
                packet::send_prepared(stack.top(), irp, to_origin, &back);
            };
            while (come < operations)
                if (!back.take_all(completed)) relax_processor();
            over = true;
        },
        [&] {
            while (!over.load(std::memory_order_relaxed))
                if (!out.take_all(complete_with_result)) relax_processor();
        });
}

// The same driver; its thread and the originator sleep on events.
struct sleeping_worker {
    packet_stack out;
    KEVENT filled;
    sleeping_worker() { KeInitializeEvent(&filled, SynchronizationEvent, FALSE); }
};

BENCH_OPAQUE NTSTATUS to_sleeping_worker(PDEVICE_OBJECT device, PIRP irp) {
    auto* worker = static_cast<sleeping_worker*>(context_of(device));
    IoMarkIrpPending(irp);
    worker->out.push(irp);
    KeSetEvent(&worker->filled, IO_NO_INCREMENT, FALSE);
    return STATUS_PENDING;
}

BENCH_OPAQUE NTSTATUS set_event(PDEVICE_OBJECT, PIRP, PVOID context) {
    KeSetEvent(static_cast<PKEVENT>(context), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void wait_for(KEVENT& event) {
    KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, nullptr);
}

void round_trip_sleeping(run& sample) {
    sleeping_worker worker;
    const device_stack stack(to_sleeping_worker, 0, &worker);
    packet request(stack.top());
    KEVENT completed;
    KeInitializeEvent(&completed, SynchronizationEvent, FALSE);
    const std::uint64_t operations = sample.operations();
    on_two_processors(
        sample,
        [&] {
            for (std::uint64_t i = 0; i < operations; ++i) {
                request.send(set_event, &completed);
                wait_for(completed);
            }
        },
        [&] {
            for (std::uint64_t i = 0; i < operations; ++i) {
                wait_for(worker.filled);
                worker.out.take_all(complete_with_result);
            }
        });
}

// Two threads with separate stacks and requests.
void own_requests(run& sample) {
    struct alignas(far_apart) own {
        device_stack stack{complete_at_once};
        packet request{stack.top()};
        std::uint64_t sum = 0;
        void send(std::uint64_t operations) {
            for (std::uint64_t i = 0; i < operations; ++i)
                request.send(count_and_keep, &sum);
        }
    };
    own here, there;
    const std::uint64_t operations = sample.operations();
    on_two_processors(
        sample, [&] { here.send(operations); }, [&] { there.send(operations); });
    expect(here.sum == operations * result_information && there.sum == here.sum,
           "ours/own_requests");
}

} // namespace

void add_ours_threads(catalog& all) {
    all.add("ours/window_64", "out to a driver's thread and back, 64 outstanding, both spin",
            window<64>, threads::two);
    all.add("ours/round_trip_spinning", "out to a driver's thread and back, both spin", window<1>,
            threads::two);
    all.add("ours/round_trip_sleeping", "out to a driver's thread and back, both wait for events",
            round_trip_sleeping, threads::two);
    all.add("ours/own_requests_two_threads", "sync_1 on two threads at once, nothing shared",
            own_requests, threads::two);
}

} // namespace irpverbs::bench
