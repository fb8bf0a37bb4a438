#include "completion_port.hpp"
#include "irql_rules.hpp"
#include "packet/irp_allocation.hpp"
#include "queue_eventfd.hpp"
#include "require.hpp"
#include "verify/hooks.hpp"

#include <dispatch/interlocked.h>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/handle_table.hpp>
#include <dispatch/support/locals.hpp>
#include <dispatch/testing/probe.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <algorithm>
#include <new>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

struct port_context {
    IO_COMPLETION_CONTEXT public_context;
    port_context* next;
};

// Lives as long as one of its users: its creator, threads inside, sent IRPs, devices.
struct completion_port {
    KQUEUE queue;
    NPAGED_LOOKASIDE_LIST packets;
    queue_eventfd descriptor;
    port_context* contexts = nullptr;
    LONG references = 0;
    BOOLEAN closed = FALSE;
};

// A packet without an IRP. `self` distinguishes it from an IRP: it lies where DriverContext[3]
// does, which is null in a posted IRP.
struct user_packet {
    FILE_IO_COMPLETION_INFORMATION content;
    user_packet* self;
    LIST_ENTRY entry;
};
static_assert(offsetof(user_packet, entry) - offsetof(user_packet, self) ==
              offsetof(IRP, Tail.Overlay.ListEntry) - offsetof(IRP, Tail.Overlay.DriverContext[3]));

completion_port* port_of(const IO_COMPLETION_CONTEXT& context) {
    return static_cast<completion_port*>(context.Port);
}

user_packet* user_packet_of(LIST_ENTRY* entry) {
    return CONTAINING_RECORD(entry, user_packet, entry)->self;
}
IRP* irp_of(LIST_ENTRY* entry) { return CONTAINING_RECORD(entry, IRP, Tail.Overlay.ListEntry); }

void discard_packet(completion_port& port, LIST_ENTRY* entry) {
    if (user_packet* packet = user_packet_of(entry))
        ExFreeToNPagedLookasideList(&port.packets, packet);
    else
        free_allocated_irp(irp_of(entry));
}

void discard_packets(completion_port& port) {
    LIST_ENTRY* first = KeRundownQueue(&port.queue);
    if (first == nullptr) return;
    for (LIST_ENTRY* entry = first->Flink; entry != first;) {
        LIST_ENTRY* next = entry->Flink;
        discard_packet(port, entry);
        entry = next;
    }
    discard_packet(port, first);
}

void destroy(completion_port* port) {
    discard_packets(*port);
    ExDeleteNPagedLookasideList(&port->packets);
    while (port_context* context = port->contexts) {
        port->contexts = context->next;
        delete context;
    }
    delete port;
}

void reference(completion_port& port) { __atomic_add_fetch(&port.references, 1, __ATOMIC_RELAXED); }

void dereference(completion_port* port) {
    sched_point(point::interlocked, port);
    if (__atomic_sub_fetch(&port->references, 1, __ATOMIC_ACQ_REL) == 0) destroy(port);
}

void intrusive_ptr_add_ref(completion_port* port) { reference(*port); }
void intrusive_ptr_release(completion_port* port) { dereference(port); }
using port_reference = boost::intrusive_ptr<completion_port>;

// Its reference is the creator's.
using port_table = handle_table<port_reference>;
IRPVERBS_REGISTERED_EARLY const machine_local<port_table> open_ports(0);

port_reference port_of(void* handle) {
    return open_ports.current().find(reinterpret_cast<port_table::handle>(handle));
}

bool is_closed(const completion_port& port) {
    return __atomic_load_n(&port.closed, __ATOMIC_ACQUIRE) != FALSE;
}

// A packet that is posted after the close is discarded like those that were queued then.
void post(completion_port& port, LIST_ENTRY* entry) {
    if (KeInsertQueue(&port.queue, entry) == 0) port.descriptor.signal();
    if (is_closed(port)) {
        IRPVERBS_PROBE("port.packet_after_close");
        discard_packets(port);
    }
}

FILE_IO_COMPLETION_INFORMATION read_packet(completion_port& port, LIST_ENTRY* entry) {
    if (user_packet* packet = user_packet_of(entry)) {
        const FILE_IO_COMPLETION_INFORMATION content = packet->content;
        ExFreeToNPagedLookasideList(&port.packets, packet);
        return content;
    }
    IRP* irp = irp_of(entry);
    const FILE_IO_COMPLETION_INFORMATION content{irp->CompletionContext->Key, irp->UserIosb,
                                                 irp->IoStatus};
    if ((irp->AllocationFlags & thread_bound) != 0) IoFreeIrp(irp);
    return content;
}

// Removes up to `count` packets and waits for the first, in portions that fit on the stack.
ULONG remove(completion_port& port, FILE_IO_COMPLETION_INFORMATION* packets, ULONG count,
             LARGE_INTEGER* timeout) {
    constexpr ULONG most = 64;
    LIST_ENTRY* entries[most];
    LARGE_INTEGER no_wait{};
    ULONG taken = 0;
    ULONG wanted = 0;
    ULONG got = 0;
    do {
        wanted = std::min(most, count - taken);
        got = KeRemoveQueueEx(&port.queue, KernelMode, FALSE, taken == 0 ? timeout : &no_wait,
                              entries, wanted);
        for (ULONG i = 0; i < got; ++i)
            packets[taken++] = read_packet(port, entries[i]);
    } while (got == wanted && taken < count);
    port.descriptor.clear_if_empty(port.queue);
    return taken;
}

// Null: there is no memory.
IO_COMPLETION_CONTEXT* new_context(completion_port& port, void* key) {
    auto* context = new (std::nothrow) port_context{{&port, key}, nullptr};
    if (context == nullptr) return nullptr;
    context->next = __atomic_load_n(&port.contexts, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&port.contexts, &context->next, context, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return &context->public_context;
}

NTSTATUS insert_in_queue(DEVICE_OBJECT*, IRP* irp, void* queue) {
    KeInsertQueue(static_cast<KQUEUE*>(queue), &irp->Tail.Overlay.ListEntry);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

} // namespace

namespace irpverbs::irp {

void post_completion(IRP* irp) {
    completion_port* port = port_of(*irp->CompletionContext);
    irp->Tail.Overlay.DriverContext[3] = nullptr;
    post(*port, &irp->Tail.Overlay.ListEntry);
    dereference(port);
}

NTSTATUS associate_port(IO_COMPLETION_CONTEXT*& place, void* port, void* key) {
    PIO_COMPLETION_CONTEXT context = nullptr;
    const NTSTATUS status = IoCreateCompletionContext(port, key, &context);
    if (!NT_SUCCESS(status)) return status;
    port_reference owned = port_of(*context);
    PIO_COMPLETION_CONTEXT before = nullptr;
    if (!__atomic_compare_exchange_n(&place, &before, context, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return STATUS_INVALID_PARAMETER;
    static_cast<void>(owned.detach());
    return STATUS_SUCCESS;
}

void dereference_completion_context(IO_COMPLETION_CONTEXT* context) {
    if (context != nullptr) dereference(port_of(*context));
}

} // namespace irpverbs::irp

extern "C" {

NTSTATUS IoCreateIoCompletion(PVOID* IoCompletion, ULONG Count) {
    VERIFY_IRQL(IoCreateIoCompletion);
    if (fault_point("irp.create_io_completion")) return STATUS_INSUFFICIENT_RESOURCES;
    const port_reference port(new (std::nothrow) completion_port);
    if (port == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    KeInitializeQueue(&port->queue, Count);
    ExInitializeNPagedLookasideList(&port->packets, nullptr, nullptr, 0, sizeof(user_packet),
                                    0x706F4349, 0);
    name_object(port.get(), "completion port");
    const port_table::handle handle = open_ports.current().insert(port);
    *IoCompletion = reinterpret_cast<PVOID>(handle);
    return handle != 0 ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS IoCloseIoCompletion(PVOID IoCompletion) {
    VERIFY_IRQL(IoCloseIoCompletion);
    const port_reference port =
        open_ports.current().remove(reinterpret_cast<port_table::handle>(IoCompletion));
    if (port == nullptr) return STATUS_INVALID_HANDLE;
    sched_point(point::interlocked, port.get());
    __atomic_store_n(&port->closed, BOOLEAN{TRUE}, __ATOMIC_RELEASE);
    discard_packets(*port);
    port->descriptor.signal(); // for event loops: their next removal reports the close
    return STATUS_SUCCESS;
}

NTSTATUS IoCreateCompletionContext(PVOID IoCompletion, PVOID Key,
                                   PIO_COMPLETION_CONTEXT* CompletionContext) {
    VERIFY_IRQL(IoCreateCompletionContext);
    if (fault_point("irp.create_completion_context")) return STATUS_INSUFFICIENT_RESOURCES;
    const port_reference port = port_of(IoCompletion);
    if (port == nullptr) return STATUS_INVALID_HANDLE;
    *CompletionContext = new_context(*port, Key);
    return *CompletionContext != nullptr ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

void IoSetCompletionContext(PIRP Irp, PIO_COMPLETION_CONTEXT CompletionContext, PVOID ApcContext) {
    VERIFY_IRQL(IoSetCompletionContext);
    if (instrumented()) verify::check_use(Irp, "IoSetCompletionContext");
    reference(*port_of(*CompletionContext));
    Irp->Flags |= IRP_POST_COMPLETION;
    Irp->CompletionContext = CompletionContext;
    Irp->UserIosb = static_cast<PIO_STATUS_BLOCK>(ApcContext);
}

void IoSetCompletionQueue(PIRP Irp, PKQUEUE Queue) {
    VERIFY_IRQL(IoSetCompletionQueue);
    IoSetCompletionRoutine(Irp, insert_in_queue, Queue, TRUE, TRUE, TRUE);
}

NTSTATUS IoAssociateDevice(PDEVICE_OBJECT DeviceObject, PVOID IoCompletion, PVOID Key) {
    require(DeviceObject, "IoAssociateDevice: the device is NULL");
    VERIFY_IRQL(IoAssociateDevice);
    return associate_port(DeviceObject->CompletionContext, IoCompletion, Key);
}

NTSTATUS IoSetIoCompletion(PVOID IoCompletion, PVOID KeyContext, PVOID ApcContext,
                           NTSTATUS IoStatus, ULONG_PTR IoStatusInformation, BOOLEAN) {
    VERIFY_IRQL(IoSetIoCompletion);
    const port_reference port = port_of(IoCompletion);
    if (port == nullptr) return STATUS_INVALID_HANDLE;
    void* memory = ExAllocateFromNPagedLookasideList(&port->packets);
    if (memory == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    auto* packet = new (memory) user_packet{};
    packet->content = {KeyContext, ApcContext, {{IoStatus}, IoStatusInformation}};
    packet->self = packet;
    post(*port, &packet->entry);
    return STATUS_SUCCESS;
}

NTSTATUS IoRemoveIoCompletionEx(PVOID IoCompletion,
                                PFILE_IO_COMPLETION_INFORMATION IoCompletionInformation,
                                ULONG Count, PULONG NumEntriesRemoved, PLARGE_INTEGER Timeout,
                                BOOLEAN) {
    VERIFY_IRQL(IoRemoveIoCompletion);
    const port_reference port = port_of(IoCompletion);
    if (port == nullptr) return STATUS_INVALID_HANDLE;
    if (Count == 0) return STATUS_INVALID_PARAMETER;
    *NumEntriesRemoved = remove(*port, IoCompletionInformation, Count, Timeout);
    const bool closed = is_closed(*port);
    if (*NumEntriesRemoved != 0) return STATUS_SUCCESS;
    return closed ? STATUS_ABANDONED_WAIT_0 : STATUS_TIMEOUT;
}

NTSTATUS IoRemoveIoCompletion(PVOID IoCompletion, PVOID* KeyContext, PVOID* ApcContext,
                              PIO_STATUS_BLOCK IoStatusBlock, PLARGE_INTEGER Timeout) {
    FILE_IO_COMPLETION_INFORMATION packet{};
    ULONG count = 0;
    const NTSTATUS status =
        IoRemoveIoCompletionEx(IoCompletion, &packet, 1, &count, Timeout, FALSE);
    if (count == 0) return status;
    *KeyContext = packet.KeyContext;
    *ApcContext = packet.ApcContext;
    *IoStatusBlock = packet.IoStatusBlock;
    return status;
}

LONG IoQueryIoCompletion(PVOID IoCompletion) {
    VERIFY_IRQL(IoQueryIoCompletion);
    const port_reference port = port_of(IoCompletion);
    return port != nullptr ? KeReadStateQueue(&port->queue) : 0;
}

int IoCompletionEventFd(PVOID IoCompletion) {
    VERIFY_IRQL(IoCompletionEventFd);
    if (fault_point("irp.completion_event_fd")) return -1;
    const port_reference port = port_of(IoCompletion);
    return port != nullptr ? port->descriptor.open(port->queue) : -1;
}

} // extern "C"
