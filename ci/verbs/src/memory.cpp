#include "memory.hpp"

#include "device_memory.hpp"
#include "handle_table.hpp"
#include "open_device.hpp"
#include "own_objects.hpp"
#include "verb_call.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace irpverbs::verbs {

namespace {

struct right {
    unsigned shown;
    ib_access_t own;
};
constexpr std::array rights{
    right{IBV_ACCESS_LOCAL_WRITE, IB_AC_LOCAL_WRITE},
    right{IBV_ACCESS_REMOTE_WRITE, IB_AC_RDMA_WRITE},
    right{IBV_ACCESS_REMOTE_READ, IB_AC_RDMA_READ},
    right{IBV_ACCESS_REMOTE_ATOMIC, IB_AC_ATOMIC},
    right{IBV_ACCESS_MW_BIND, IB_AC_MW_BIND},
    right{IBV_ACCESS_ZERO_BASED, IB_AC_ZERO_BASED},
    right{IBV_ACCESS_ON_DEMAND, IB_AC_ON_DEMAND},
};

// Rights that change nothing here: pages of any size are used, and a provider may ignore those of
// the optional range.
constexpr unsigned ignored_rights =
    unsigned{IBV_ACCESS_HUGETLB} | unsigned{IBV_ACCESS_OPTIONAL_RANGE};

// Returns the object after it has a handle, or null and errno.
template <class Object>
Object* with_handle(std::unique_ptr<Object> made) try {
    made->handle = handle_table<Object>::only().insert(*made);
    return made.release();
} catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
}

// A region of the whole address space is on demand and has no address. No page is mapped at 0, and
// none beyond the user's half.
constexpr ULONGLONG first_mapped = 4096;
constexpr ULONGLONG mapped_bytes = (ULONGLONG{1} << 47) - first_mapped;

bool is_implicit(const region_attributes& of) {
    return of.address == nullptr && of.length == SIZE_MAX &&
           (of.access & IBV_ACCESS_ON_DEMAND) != 0;
}

/// A structure that goes to a daemon, with its padding, which memcheck would find uninitialised.
template <class Structure>
struct cleared : Structure {
    cleared() { std::memset(static_cast<Structure*>(this), 0, sizeof(Structure)); }
};

void set_region(ib_mr_create_t& made, const region_attributes& wanted) {
    made.vaddr = wanted.address;
    made.length = wanted.length;
    made.access_ctrl = from_libibverbs_access(wanted.access);
    if (is_implicit(wanted)) {
        made.vaddr = reinterpret_cast<void*>(first_mapped);
        made.length = mapped_bytes;
        return;
    }
    const bool as_memory = wanted.iova == reinterpret_cast<std::uintptr_t>(wanted.address);
    if (wanted.iova == 0) made.access_ctrl |= IB_AC_ZERO_BASED;
    if (!as_memory) made.iova = wanted.iova;
}

// The kernel maps the pages of a region at the addresses for work requests, and wants one at least.
bool has_pages(const region_attributes& of) {
    constexpr std::uintptr_t offset_mask = 4096 - 1;
    const auto first = reinterpret_cast<std::uintptr_t>(of.address);
    return ((first ^ of.iova) & offset_mask) == 0 && (of.length != 0 || (first & offset_mask) != 0);
}

// The kernel calls rights that contradict one another an invalid argument.
outcome as_kernels(outcome of_region) {
    if (of_region.status == STATUS_ACCESS_DENIED) of_region.status = STATUS_INVALID_PARAMETER;
    return of_region;
}

IB_MR* create_region(const region_attributes& wanted) {
    cleared<ib_mr_create_t> create;
    set_region(create, wanted);
    const ib_mr_create_t* const asked = &create;
    const outcome made = as_kernels(call(CiRegisterMr, protection_domain::of(wanted.pd).own(),
                                         asked, static_cast<CI_UDATA*>(nullptr)));
    return own_object<IB_MR>(open_device::of(wanted.pd->context).ca(), made);
}

outcome deallocate(IB_PD* pd) { return destroy_own(CiDeallocatePd, pd); }

int deregister(IB_MR* mr) { return destroy_own(CiDeregisterMr, mr).error(); }

// A program may pass on the R_Key before it gives the peer a right (ibv_rereg_mr): the key stays,
// and it is the L_Key.
void describe(memory_region& made, IB_MR* mr, const region_attributes& with) {
    made.mr = mr;
    made.access = with.access;
    made.iova = with.iova;
    made.context = with.pd->context;
    made.pd = with.pd;
    made.addr = with.address;
    made.length = with.length;
    made.lkey = mr->LKey;
    made.rkey = mr->LKey;
}

constexpr unsigned known_rights() {
    unsigned made = ignored_rights;
    for (const right& each : rights)
        made |= each.shown;
    return made;
}

bool has_known_rights(const region_attributes& of) { return (of.access & ~known_rights()) == 0; }

// Source: ibv_rereg_mr(3), which also makes the addresses for work requests those of the memory.
bool is_good_change(int flags, const region_attributes& given) {
    const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    const bool has_domain = (flags & IBV_REREG_MR_CHANGE_PD) == 0 || given.pd != nullptr;
    const bool has_memory = !moves || (given.address != nullptr && given.length != 0);
    const bool has_rights = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 || given.access == 0;
    return flags != 0 && (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) == 0 && has_domain && has_memory &&
           has_rights && has_known_rights(given);
}

region_attributes changed_attributes(const memory_region& of, int flags,
                                     const region_attributes& given) {
    region_attributes made{of.pd, of.addr, of.length, of.access, of.iova};
    if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) made.pd = given.pd;
    if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) made.access = given.access;
    if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
        made.address = given.address;
        made.length = given.length;
        made.iova = given.iova;
    }
    return made;
}

// One of the rights has the address 0 for work requests.
ULONG changes_of(int flags) {
    const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    return static_cast<ULONG>(flags) | (moves ? IB_MR_MOD_ACCESS : 0);
}

} // namespace

memory_region* register_region(const region_attributes& wanted) {
    if (!has_known_rights(wanted)) {
        errno = EINVAL;
        return nullptr;
    }
    std::unique_ptr<memory_region> made(new (std::nothrow) memory_region{});
    if (made == nullptr) return nullptr;
    IB_MR* mr = create_region(wanted);
    if (mr == nullptr) return nullptr;
    describe(*made, mr, wanted);
    memory_region* registered = with_handle(std::move(made));
    if (registered == nullptr) deregister(mr);
    return registered;
}

// No page is locked, so there is nothing to prefetch; the advice is checked.
int advise_mr(ibv_pd*, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge*,
              std::uint32_t count) {
    const bool is_known = advice <= IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT &&
                          (flags & ~std::uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) == 0;
    return is_known && count != 0 ? 0 : EINVAL;
}

ib_access_t from_libibverbs_access(unsigned access) {
    ib_access_t made = 0;
    for (const right& each : rights)
        if ((access & each.shown) != 0) made |= each.own;
    return made;
}

unsigned as_libibverbs_access(ib_access_t access) {
    unsigned made = 0;
    for (const right& each : rights)
        if ((access & each.own) != 0) made |= each.shown;
    return made;
}

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

ibv_pd* irpverbs_ibv_alloc_pd(ibv_context* of) {
    std::unique_ptr<protection_domain> made(new (std::nothrow) protection_domain{});
    if (made == nullptr) return nullptr;
    IB_CA* const ca = open_device::of(of).ca();
    made->pd = own_object<IB_PD>(
        ca, call(CiAllocatePd, ca, ULONG{IB_PDT_NORMAL}, static_cast<CI_UDATA*>(nullptr)));
    if (made->pd == nullptr) return nullptr;
    made->context = of;
    IB_PD* pd = made->pd;
    protection_domain* allocated = with_handle(std::move(made));
    if (allocated == nullptr) deallocate(pd);
    return allocated;
}

int irpverbs_ibv_dealloc_pd(ibv_pd* shown) {
    auto& ended = protection_domain::of(shown);
    if (ended.parent != nullptr) {
        --ended.parent->stand_ins;
        delete &ended;
        return 0;
    }
    if (ended.stand_ins != 0) return EBUSY;
    const outcome done = deallocate(ended.pd);
    if (!done) return done.error();
    handle_table<protection_domain>::only().remove(ended.handle);
    delete &ended;
    return 0;
}

ibv_mr* irpverbs_ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                  unsigned access) {
    const region_attributes wanted{pd, address, length, access, iova};
    if (!has_pages(wanted)) {
        errno = EINVAL;
        return nullptr;
    }
    return register_region(wanted);
}

// The next two are the functions behind the macros of the header.
ibv_mr* irpverbs_ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
    return irpverbs_ibv_reg_mr_iova2(pd, address, length, reinterpret_cast<std::uintptr_t>(address),
                                     static_cast<unsigned>(access));
}

ibv_mr* irpverbs_ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                 int access) {
    return irpverbs_ibv_reg_mr_iova2(pd, address, length, iova, static_cast<unsigned>(access));
}

// A failure changes nothing, so it is always one of the input.
int irpverbs_ibv_rereg_mr(ibv_mr* shown, int flags, ibv_pd* pd, void* address, std::size_t length,
                          int access) {
    auto& changed = memory_region::of(shown);
    const region_attributes given{pd, address, length, static_cast<unsigned>(access),
                                  reinterpret_cast<std::uintptr_t>(address)};
    if (!is_good_change(flags, given)) {
        errno = EINVAL;
        return IBV_REREG_MR_ERR_INPUT;
    }
    const region_attributes wanted = changed_attributes(changed, flags, given);
    cleared<ib_mr_mod_t> change;
    const ib_mr_mod_t* const asked = &change;
    change.opts = changes_of(flags);
    change.h_pd = protection_domain::of(wanted.pd).own();
    set_region(change.create, wanted);
    const outcome done =
        as_kernels(call(CiModifyMr, changed.mr, asked, static_cast<CI_UDATA*>(nullptr)));
    if (!done) {
        errno = done.error();
        return IBV_REREG_MR_ERR_INPUT;
    }
    describe(changed, changed.mr, wanted);
    return 0;
}

int irpverbs_ibv_dereg_mr(ibv_mr* shown) {
    auto& ended = memory_region::of(shown);
    const int error = deregister(ended.mr);
    if (error != 0) return error;
    if (ended.memory != nullptr) --ended.memory->regions;
    handle_table<memory_region>::only().remove(ended.handle);
    delete &ended;
    return 0;
}

} // extern "C"
