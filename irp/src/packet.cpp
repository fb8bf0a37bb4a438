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

packet_stock* stock_of(processor& self) {
    processor::stock& place = self.stocks[stock_index];
    if (place.head == nullptr) {
        place.head = new (std::nothrow) packet_stock;
        place.drop = drop_stock;
    }
    return static_cast<packet_stock*>(place.head);
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

template <const irql_rule& Rule>
void prepare(IRP* irp, USHORT size, CCHAR stack_size) {
    // Line by line, inline: a call to memset costs more than the few lines themselves.
    constexpr int line = 64;
    auto* bytes = reinterpret_cast<char*>(irp);
    const int lines = static_cast<int>(sizeof(IRP) / line) + stack_size;
    for (int i = 0; i < lines; ++i)
        std::memset(bytes + i * line, 0, line);
    irp->Type = live_packet;
    irp->Size = size;
    irp->StackCount = stack_size;
    irp->CurrentLocation = static_cast<CCHAR>(stack_size + 1);
    if (!instrumented()) return;
    if (verifying()) check_irql(Rule);
    introduce_slow(irp, "irp");
}

} // namespace

extern "C" {

PIRP IoAllocateIrp(CCHAR StackSize, BOOLEAN) {
    if (StackSize <= 0 || StackSize == INT8_MAX) return nullptr;
    const USHORT size = IoSizeOfIrp(static_cast<std::size_t>(StackSize));
    IRP* irp = from_stock(StackSize);
    if (irp == nullptr) irp = static_cast<IRP*>(std::aligned_alloc(64, size));
    if (irp == nullptr) return nullptr;
    prepare<irql_rules::IoAllocateIrp>(irp, size, StackSize);
    irp->AllocationFlags = from_allocate;
    return irp;
}

void IoInitializeIrp(PIRP Irp, USHORT PacketSize, CCHAR StackSize) {
    if (PacketSize < IoSizeOfIrp(static_cast<std::size_t>(StackSize)))
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                  "IoInitializeIrp: PacketSize does not hold that many stack locations", 0x20D,
                  reinterpret_cast<ULONG_PTR>(Irp), PacketSize);
    prepare<irql_rules::IoInitializeIrp>(Irp, PacketSize, StackSize);
}

void IoReuseIrp(PIRP Irp, NTSTATUS Status) {
    const UCHAR flags = Irp->AllocationFlags;
    prepare<irql_rules::IoReuseIrp>(Irp, Irp->Size, Irp->StackCount);
    Irp->AllocationFlags = flags;
    Irp->IoStatus.Status = Status;
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
