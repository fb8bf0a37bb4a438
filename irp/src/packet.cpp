#include "packet.hpp"
#include "rules.hpp"

#include <dispatch/detail/checks.hpp>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

// Each processor keeps freed packets of the common sizes, so that neither end of a packet's life
// takes a lock. A packet in stock is linked through its MasterIrp.
struct packet_stock {
    static constexpr int sizes = 8;
    static constexpr int most = 64;
    IRP* first[sizes] = {};
    int count[sizes] = {};
};

constexpr std::size_t stock_index = 0; // of processor::stocks

IRP*& next_in_stock(IRP* irp) { return irp->AssociatedIrp.MasterIrp; }

void drop_stock(void* held) {
    auto* stock = static_cast<packet_stock*>(held);
    for (IRP* irp : stock->first)
        while (irp != nullptr)
            std::free(std::exchange(irp, next_in_stock(irp)));
    delete stock;
}

[[gnu::cold, gnu::noinline]] packet_stock* new_stock(processor::stock& place) {
    place.head = new (std::nothrow) packet_stock;
    place.drop = drop_stock;
    return static_cast<packet_stock*>(place.head);
}

packet_stock* stock_of(processor& self) {
    processor::stock& place = self.stocks[stock_index];
    return place.head != nullptr ? static_cast<packet_stock*>(place.head) : new_stock(place);
}

IRP* from_stock(int stack_size) {
    packet_stock* stock = stack_size <= packet_stock::sizes ? stock_of(this_processor()) : nullptr;
    if (stock == nullptr || stock->first[stack_size - 1] == nullptr) return nullptr;
    IRP* irp = stock->first[stack_size - 1];
    stock->first[stack_size - 1] = next_in_stock(irp);
    --stock->count[stack_size - 1];
    return irp;
}

bool into_stock(IRP* irp) {
    const int index = irp->StackCount - 1;
    packet_stock* stock = index < packet_stock::sizes ? stock_of(this_processor()) : nullptr;
    if (stock == nullptr || stock->count[index] == packet_stock::most) return false;
    irp->Type = freed_packet;
    next_in_stock(irp) = stock->first[index];
    stock->first[index] = irp;
    ++stock->count[index];
    return true;
}

// Zeroes by stores, at most a cache line at a time: for the few lines of a packet a call to memset
// costs more, and so does the string instruction that compilers make of a longer one.
template <std::size_t From, std::size_t To>
void zero_bytes(void* place) {
    static_assert(To - From <= 64);
    std::memset(static_cast<char*>(place) + From, 0, To - From);
}

[[gnu::cold, gnu::noinline]] void prepare_instrumented(const IRP* irp, const irql_rule& rule) {
    if (verifying()) check_irql(rule);
    introduce_slow(irp, "irp");
}

// All but Type and Size.
[[gnu::always_inline]] inline void prepare(IRP* irp, CCHAR stack_size, UCHAR allocation,
                                           NTSTATUS status, const irql_rule& rule) {
    static_assert(sizeof(IRP) == 128 && sizeof(IO_STACK_LOCATION) == 64);
    zero_bytes<offsetof(IRP, Flags), 64>(irp);
    zero_bytes<64, 128>(irp);
    auto* location = reinterpret_cast<IO_STACK_LOCATION*>(irp + 1);
    const IO_STACK_LOCATION* end = location + stack_size;
    do
        zero_bytes<0, 64>(location);
    while (++location != end);
    irp->StackCount = stack_size;
    irp->CurrentLocation = static_cast<CCHAR>(stack_size + 1);
    irp->AllocationFlags = allocation;
    irp->IoStatus.Status = status;
    if (instrumented()) prepare_instrumented(irp, rule);
}

[[gnu::always_inline]] inline void make_packet(IRP* irp, USHORT size, CCHAR stack_size,
                                               UCHAR allocation, const irql_rule& rule) {
    irp->Type = live_packet;
    irp->Size = size;
    prepare(irp, stack_size, allocation, STATUS_SUCCESS, rule);
}

} // namespace

extern "C" {

PIRP IoAllocateIrp(CCHAR StackSize, BOOLEAN) {
    if (StackSize <= 0 || StackSize == INT8_MAX) return nullptr;
    const USHORT size = IoSizeOfIrp(static_cast<std::size_t>(StackSize));
    IRP* irp = from_stock(StackSize);
    if (irp == nullptr) irp = static_cast<IRP*>(std::aligned_alloc(64, size));
    if (irp == nullptr) return nullptr;
    make_packet(irp, size, StackSize, from_allocate, irql_rules::IoAllocateIrp);
    return irp;
}

void IoInitializeIrp(PIRP Irp, USHORT PacketSize, CCHAR StackSize) {
    if (StackSize <= 0 || PacketSize < IoSizeOfIrp(static_cast<std::size_t>(StackSize)))
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                  "IoInitializeIrp: no stack location, or more than PacketSize holds", 0x20D,
                  reinterpret_cast<ULONG_PTR>(Irp), PacketSize);
    make_packet(Irp, PacketSize, StackSize, 0, irql_rules::IoInitializeIrp);
}

void IoReuseIrp(PIRP Irp, NTSTATUS Status) {
    prepare(Irp, Irp->StackCount, Irp->AllocationFlags, Status, irql_rules::IoReuseIrp);
}

void IoFreeIrp(PIRP Irp) {
    VERIFY_IRQL(IoFreeIrp);
    if (Irp->Type != live_packet)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, "IoFreeIrp: this is no IRP, or it was freed",
                  0x01, reinterpret_cast<ULONG_PTR>(Irp));
    if (Irp->CancelRoutine != nullptr)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, "IoFreeIrp: the IRP still waits in a queue",
                  0x20A, reinterpret_cast<ULONG_PTR>(Irp));
    if ((Irp->AllocationFlags & from_allocate) == 0 || into_stock(Irp)) return;
    std::free(Irp);
}

} // extern "C"
