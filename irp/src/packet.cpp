#include "packet.hpp"
#include "require.hpp"
#include "rules.hpp"
#include "verify/hooks.hpp"
#include "verify/options.hpp"
#include "verify/record.hpp"
#include "verify/veil.hpp"

#include <dispatch/detail/checks.hpp>
#include <dispatch/detail/faults.hpp>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

// Each processor caches freed IRPs of the common sizes, so that neither allocation nor free takes a
// lock. A cached IRP is linked through its MasterIrp. AddressSanitizer reports each access to it
// except to its first bytes: IoFreeIrp and IoCallDriver read Type.
struct packet_stock {
    static constexpr int sizes = 8;
    static constexpr int most = 64;
    IRP* first[sizes] = {};
    int count[sizes] = {};
};

constexpr std::size_t stock_index = 0; // of processor::stocks

IRP*& next_in_stock(IRP* irp) { return irp->AssociatedIrp.MasterIrp; }

constexpr std::size_t readable = offsetof(IRP, MdlAddress);

void poison_packet(IRP* irp) { verify::veil(&irp->MdlAddress, irp->Size - readable); }
IRP* unpoison_packet(IRP* irp) {
    verify::unveil(&irp->MdlAddress, irp->Size - readable);
    return irp;
}

void drop_stock(void* held) {
    auto* stock = static_cast<packet_stock*>(held);
    for (IRP* irp : stock->first)
        while (irp != nullptr)
            std::free(std::exchange(irp, next_in_stock(unpoison_packet(irp))));
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
    IRP* irp = unpoison_packet(stock->first[stack_size - 1]);
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
    poison_packet(irp);
    return true;
}

// Zeroes memory by stores, at most a cache line at a time: for the few lines of an IRP a call of
// memset costs more, and so does the string instruction that compilers emit for a longer one.
template <std::size_t From, std::size_t To>
void zero_bytes(void* place) {
    static_assert(To - From <= 64);
    std::memset(static_cast<char*>(place) + From, 0, To - From);
}

// Initialises all fields but Type and Size.
[[gnu::always_inline]] inline void prepare(IRP* irp, CCHAR stack_size, UCHAR allocation,
                                           NTSTATUS status) {
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
}

[[gnu::always_inline]] inline void make_packet(IRP* irp, USHORT size, CCHAR stack_size,
                                               UCHAR allocation) {
    irp->Type = live_packet;
    irp->Size = size;
    prepare(irp, stack_size, allocation, STATUS_SUCCESS);
}

[[gnu::cold, gnu::noinline]] IRP* allocate_instrumented(USHORT size, CCHAR stack_size) {
    VERIFY_IRQL(IoAllocateIrp);
    if (fault_point("irp.allocate")) return nullptr;
    const bool watch = verify::tracking();
    IRP* irp = watch ? nullptr : from_stock(stack_size);
    if (irp == nullptr) irp = static_cast<IRP*>(std::aligned_alloc(64, size));
    if (irp == nullptr) return nullptr;
    make_packet(irp, size, stack_size, watch ? from_allocate | under_watch : from_allocate);
    verify::begin_life(irp, verify::origin::allocated);
    return irp;
}

[[gnu::cold, gnu::noinline]] void reuse_instrumented(IRP* irp, NTSTATUS status) {
    require_irp(irp, "IoReuseIrp: the IRP is NULL");
    VERIFY_IRQL(IoReuseIrp);
    if (!verify::check_reuse(irp)) return;
    prepare(irp, irp->StackCount, irp->AllocationFlags, status);
    verify::begin_life(irp, verify::origin::found);
}

[[gnu::cold, gnu::noinline]] void check_free_call(const IRP* irp) {
    require_irp(irp, "IoFreeIrp: the IRP is NULL");
    VERIFY_IRQL(IoFreeIrp);
}

[[gnu::cold, gnu::noinline]] void refuse_free(IRP* irp) {
    if (irp->Type == freed_packet && !verify::check_free(irp)) return;
    bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, "IoFreeIrp: this is no IRP, or it was freed",
              0x01, reinterpret_cast<ULONG_PTR>(irp));
}

[[gnu::cold, gnu::noinline]] void refuse_queued(IRP* irp) {
    if (instrumented() && !verify::check_free(irp)) return;
    bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, "IoFreeIrp: the IRP still waits in a queue",
              0x20A, reinterpret_cast<ULONG_PTR>(irp));
}

// The IRP is not of IoAllocateIrp, or was allocated while the verifier was on.
[[gnu::cold, gnu::noinline]] void free_apart(IRP* irp) {
    if (instrumented() && !verify::check_free(irp)) return;
    if ((irp->AllocationFlags & from_allocate) != 0) verify::end_life(irp);
}

} // namespace

extern "C" {

PIRP IoAllocateIrp(CCHAR StackSize, BOOLEAN) {
    if (StackSize <= 0 || StackSize == INT8_MAX) return nullptr;
    const USHORT size = IoSizeOfIrp(static_cast<std::size_t>(StackSize));
    if (instrumented()) return allocate_instrumented(size, StackSize);
    IRP* irp = from_stock(StackSize);
    if (irp == nullptr) irp = static_cast<IRP*>(std::aligned_alloc(64, size));
    if (irp == nullptr) return nullptr;
    make_packet(irp, size, StackSize, from_allocate);
    return irp;
}

void IoInitializeIrp(PIRP Irp, USHORT PacketSize, CCHAR StackSize) {
    require_irp(Irp, "IoInitializeIrp: the IRP is NULL");
    if (StackSize <= 0 || PacketSize < IoSizeOfIrp(static_cast<std::size_t>(StackSize)))
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                  "IoInitializeIrp: no stack location, or more than PacketSize holds", 0x20D,
                  reinterpret_cast<ULONG_PTR>(Irp), PacketSize);
    VERIFY_IRQL(IoInitializeIrp);
    if (instrumented()) verify::check_initialize(Irp);
    make_packet(Irp, PacketSize, StackSize, 0);
    if (instrumented()) verify::begin_life(Irp, verify::origin::initialized);
}

void IoReuseIrp(PIRP Irp, NTSTATUS Status) {
    if (instrumented()) return reuse_instrumented(Irp, Status);
    prepare(Irp, Irp->StackCount, Irp->AllocationFlags, Status);
}

void IoFreeIrp(PIRP Irp) {
    if (instrumented()) check_free_call(Irp);
    if (Irp->Type != live_packet) return refuse_free(Irp);
    if (Irp->CancelRoutine != nullptr) return refuse_queued(Irp);
    if (Irp->AllocationFlags != from_allocate) [[unlikely]]
        return free_apart(Irp);
    if (!into_stock(Irp)) std::free(Irp);
}

} // extern "C"
