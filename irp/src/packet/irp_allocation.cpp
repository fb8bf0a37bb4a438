#include "irp_allocation.hpp"
#include "irql_rules.hpp"
#include "poison.hpp"
#include "require.hpp"
#include "verify/hooks.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/locals.hpp>

#include <cstdlib>
#include <cstring>
#include <utility>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

// Each processor caches freed IRPs of the common sizes, so that neither allocation nor free takes a
// lock. A cached IRP is linked through its MasterIrp. AddressSanitizer reports each access to it
// except to its first bytes: IoFreeIrp and IoCallDriver read Type.
struct irp_cache {
    static constexpr int sizes = 8;
    static constexpr int most = 64;
    IRP* first[sizes];
    int count[sizes];
};

IRP*& next_cached(IRP* irp) { return irp->AssociatedIrp.MasterIrp; }

constexpr std::size_t readable = offsetof(IRP, MdlAddress);

void poison_irp(IRP* irp) { poison(&irp->MdlAddress, irp->Size - readable); }
IRP* unpoison_irp(IRP* irp) {
    unpoison(&irp->MdlAddress, irp->Size - readable);
    return irp;
}

void free_cached_irps(void* held) {
    for (IRP* irp : static_cast<irp_cache*>(held)->first)
        while (irp != nullptr)
            std::free(std::exchange(irp, next_cached(unpoison_irp(irp))));
}

IRPVERBS_REGISTERED_EARLY const processor_local<irp_cache> caches(free_cached_irps);

IRP* from_cache(int stack_size) {
    if (stack_size > irp_cache::sizes) return nullptr;
    irp_cache& cache = caches.of(this_processor());
    IRP* irp = cache.first[stack_size - 1];
    if (irp == nullptr) return nullptr;
    unpoison_irp(irp);
    cache.first[stack_size - 1] = next_cached(irp);
    --cache.count[stack_size - 1];
    return irp;
}

bool into_cache(IRP* irp) {
    const int index = irp->StackCount - 1;
    if (index >= irp_cache::sizes) return false;
    irp_cache& cache = caches.of(this_processor());
    if (cache.count[index] == irp_cache::most) return false;
    irp->Type = freed_irp_type;
    next_cached(irp) = cache.first[index];
    cache.first[index] = irp;
    ++cache.count[index];
    poison_irp(irp);
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
[[gnu::always_inline]] inline void initialize_fields(IRP* irp, CCHAR stack_size, UCHAR allocation,
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

[[gnu::always_inline]] inline void initialize_irp(IRP* irp, USHORT size, CCHAR stack_size,
                                                  UCHAR allocation) {
    irp->Type = live_irp_type;
    irp->Size = size;
    initialize_fields(irp, stack_size, allocation, STATUS_SUCCESS);
}

[[gnu::cold, gnu::noinline]] IRP* allocate_instrumented(USHORT size, CCHAR stack_size) {
    VERIFY_IRQL(IoAllocateIrp);
    if (fault_point("irp.allocate")) return nullptr;
    const bool watch = verify::tracking();
    IRP* irp = watch ? nullptr : from_cache(stack_size);
    // A driver that marks the IRP after its completion writes behind the last location: into memory
    // of others, whose run then ends by a crash and not by the rule.
    const std::size_t behind = watch ? sizeof(IO_STACK_LOCATION) : 0;
    if (irp == nullptr) irp = static_cast<IRP*>(std::aligned_alloc(64, size + behind));
    if (irp == nullptr) return nullptr;
    initialize_irp(irp, size, stack_size, watch ? allocated_irp | verified_irp : allocated_irp);
    verify::begin_lifetime(irp, verify::origin::allocated);
    return irp;
}

[[gnu::cold, gnu::noinline]] void reuse_instrumented(IRP* irp, NTSTATUS status) {
    require_irp(irp, "IoReuseIrp: the IRP is NULL");
    VERIFY_IRQL(IoReuseIrp);
    if (!verify::check_reuse(irp)) return;
    initialize_fields(irp, irp->StackCount, irp->AllocationFlags, status);
    verify::begin_lifetime(irp, verify::origin::found);
}

[[gnu::cold, gnu::noinline]] void check_free_call(const IRP* irp) {
    require_irp(irp, "IoFreeIrp: the IRP is NULL");
    VERIFY_IRQL(IoFreeIrp);
}

[[gnu::cold, gnu::noinline]] void refuse_free(IRP* irp) {
    if (irp->Type == freed_irp_type && !verify::check_free(irp)) return;
    bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, "IoFreeIrp: this is no IRP, or it was freed",
              0x01, reinterpret_cast<ULONG_PTR>(irp));
}

[[gnu::cold, gnu::noinline]] void refuse_queued(IRP* irp) {
    if (instrumented() && !verify::check_free(irp)) return;
    bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, "IoFreeIrp: the IRP still waits in a queue",
              0x20A, reinterpret_cast<ULONG_PTR>(irp));
}

// The IRP is not of IoAllocateIrp, or was allocated while the verifier was on.
[[gnu::cold, gnu::noinline]] void free_uncommon(IRP* irp) {
    if (instrumented() && !verify::check_free(irp)) return;
    if ((irp->AllocationFlags & allocated_irp) != 0) verify::end_lifetime(irp);
}

} // namespace

extern "C" {

PIRP IoAllocateIrp(CCHAR StackSize, BOOLEAN) {
    if (StackSize <= 0 || StackSize == INT8_MAX) return nullptr;
    const USHORT size = IoSizeOfIrp(static_cast<std::size_t>(StackSize));
    if (instrumented()) return allocate_instrumented(size, StackSize);
    IRP* irp = from_cache(StackSize);
    if (irp == nullptr) irp = static_cast<IRP*>(std::aligned_alloc(64, size));
    if (irp == nullptr) return nullptr;
    initialize_irp(irp, size, StackSize, allocated_irp);
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
    initialize_irp(Irp, PacketSize, StackSize, 0);
    if (instrumented()) verify::begin_lifetime(Irp, verify::origin::initialized);
}

void IoReuseIrp(PIRP Irp, NTSTATUS Status) {
    if (instrumented()) return reuse_instrumented(Irp, Status);
    initialize_fields(Irp, Irp->StackCount, Irp->AllocationFlags, Status);
}

void IoFreeIrp(PIRP Irp) {
    if (instrumented()) check_free_call(Irp);
    if (Irp->Type != live_irp_type) return refuse_free(Irp);
    if (Irp->CancelRoutine != nullptr) return refuse_queued(Irp);
    if (Irp->AllocationFlags != allocated_irp) [[unlikely]]
        return free_uncommon(Irp);
    if (!into_cache(Irp)) std::free(Irp);
}

} // extern "C"
