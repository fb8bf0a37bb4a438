#include "memory_verbs.hpp"

#include "adapter.hpp"
#include "failure.hpp"

#include <ci/support/requestor.hpp>

#include <array>
#include <cerrno>
#include <new>

namespace irpverbs::hca_rdma {

namespace {

struct right {
    ib_access_t ours;
    int theirs;
};
constexpr std::array rights{
    right{IB_AC_RDMA_READ, IBV_ACCESS_REMOTE_READ},
    right{IB_AC_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE},
    right{IB_AC_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC},
    right{IB_AC_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE},
    right{IB_AC_MW_BIND, IBV_ACCESS_MW_BIND},
    right{IB_AC_ZERO_BASED, IBV_ACCESS_ZERO_BASED},
    right{IB_AC_ON_DEMAND, IBV_ACCESS_ON_DEMAND},
};

verbs_context& context_of(const HCA_PD* pd) { return adapter::of(pd->Ca->Device).context(); }

/// A domain of a queue pair that the kernel did not destroy.
class kept_domain final : public kept_object {
public:
    kept_domain(const verbs_library& verbs, ibv_pd* domain) : verbs_(verbs), domain_(domain) {}
    ~kept_domain() override { verbs_.dealloc_pd(domain_); }
    kept_domain(const kept_domain&) = delete;
    kept_domain& operator=(const kept_domain&) = delete;

private:
    const verbs_library& verbs_;
    ibv_pd* domain_;
};

bool is_remote(const ib_mr_create_t& region) { return (region.access_ctrl & IB_AC_REMOTE) != 0; }

// The kernel wants a first address with the same offset in its page as the memory's.
NTSTATUS check_rights(const IB_CA_ATTR& limits, ib_access_t wanted) {
    const bool windows = (limits.Capabilities & IB_CA_CAP_MEMORY_WINDOWS) != 0 ||
                         (limits.Capabilities & IB_CA_CAP_MEMORY_WINDOWS_2A) != 0 ||
                         (limits.Capabilities & IB_CA_CAP_MEMORY_WINDOWS_2B) != 0;
    const bool supported = (wanted & IB_AC_ZERO_BASED) == 0 &&
                           ((wanted & IB_AC_MW_BIND) == 0 || windows) &&
                           ((wanted & IB_AC_ON_DEMAND) == 0 || limits.Extended.OnDemandPaging != 0);
    return supported ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED;
}

} // namespace

ibv_mr* region_of(IB_MR* mr) { return extension_of(CONTAINING_RECORD(mr, HCA_MR, Mr)).region; }

int access_flags(ib_access_t wanted) {
    int flags = 0;
    for (const right& each : rights)
        if ((wanted & each.ours) != 0) flags |= each.theirs;
    return flags;
}

ib_access_t remote_rights(unsigned flags) {
    ib_access_t found = 0;
    for (const right& each : rights)
        if ((flags & static_cast<unsigned>(each.theirs)) != 0) found |= each.ours & IB_AC_REMOTE;
    return found;
}

NTSTATUS allocate_pd(HCA_PD* pd, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    if (!adapter::of(pd->Ca->Device).has_verbs()) return STATUS_NOT_SUPPORTED;
    const verbs_context& opened = context_of(pd);
    ibv_pd* made = opened.verbs().alloc_pd(opened.get());
    if (const int error = failure_of(made); error != 0) return opened.failure(error);
    if (irp->Cancel != FALSE) { // during the call of the kernel
        opened.verbs().dealloc_pd(made);
        return STATUS_CANCELLED;
    }
    extension_of(pd).domain = made;
    return STATUS_SUCCESS;
}

NTSTATUS deallocate_pd(HCA_PD* pd, CI_UDATA* user, PIRP) try {
    HcaCopyUserData(user, nullptr, 0);
    verbs_context& opened = context_of(pd);
    ibv_pd* ending = extension_of(pd).domain;
    if (failure_of(opened.verbs().dealloc_pd(ending)) != 0)
        opened.keep(std::make_unique<kept_domain>(opened.verbs(), ending));
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_SUCCESS; // the kernel deallocates it when the context closes
}

namespace {

// The kernel registers memory of this process: another one's only where it is mapped here, under
// the addresses that its owner has for it.
NTSTATUS find_memory(const ib_mr_create_t& region, const IRP* irp, void*& memory) {
    const MDL* const mapped = ci::mapped_region(irp);
    if (mapped == nullptr) {
        memory = region.vaddr;
        return ci::is_of_another_process(irp) ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
    }
    memory = MmGetMdlVirtualAddress(mapped);
    return region.length <= MmGetMdlByteCount(mapped) ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_region(const HCA_MR* mr, const ib_mr_create_t& region, const IRP* irp,
                      void*& memory) {
    if (const NTSTATUS status = find_memory(region, irp, memory); !NT_SUCCESS(status))
        return status;
    const IB_CA_ATTR& limits = adapter::of(mr->Pd->Ca->Device).limits();
    if (limits.MaxMrSize != 0 && region.length > limits.MaxMrSize) return STATUS_INVALID_PARAMETER;
    return check_rights(limits, region.access_ctrl);
}

void set_keys(HCA_MR* mr, const ibv_mr& from, const ib_mr_create_t& region) {
    mr->Mr.LKey = from.lkey;
    mr->Mr.RKey = is_remote(region) ? from.rkey : 0;
}

// The numbers of IB_MR_MOD_* are those of libibverbs.
static_assert(IB_MR_MOD_ADDR == IBV_REREG_MR_CHANGE_TRANSLATION &&
              IB_MR_MOD_PD == IBV_REREG_MR_CHANGE_PD &&
              IB_MR_MOD_ACCESS == IBV_REREG_MR_CHANGE_ACCESS);

// The status of a change that failed. A provider without the function has changed nothing, whatever
// libibverbs reports about the region.
NTSTATUS failure_of_change(const verbs_context& opened, int result, int error) {
    const bool unchanged =
        result == IBV_REREG_MR_ERR_INPUT || result == IBV_REREG_MR_ERR_DONT_FORK_NEW;
    const NTSTATUS status = opened.failure(error);
    return unchanged || status == STATUS_NOT_SUPPORTED || status == STATUS_FILE_FORCED_CLOSED
               ? status
               : STATUS_IO_DEVICE_ERROR;
}

} // namespace

NTSTATUS register_mr(HCA_MR* mr, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_mr_create_t& region = mr->Create;
    void* memory = nullptr;
    if (const NTSTATUS status = check_region(mr, region, irp, memory); !NT_SUCCESS(status))
        return status;
    const verbs_context& opened = context_of(mr->Pd);
    ibv_mr* made = opened.verbs().reg_mr(extension_of(mr->Pd).domain, memory, region.length,
                                         HcaMrBase(&region), access_flags(region.access_ctrl));
    if (const int error = failure_of(made); error != 0) return opened.failure(error);
    if (irp->Cancel != FALSE) {
        opened.verbs().dereg_mr(made);
        return STATUS_CANCELLED;
    }
    extension_of(mr).region = made;
    set_keys(mr, *made, region);
    return STATUS_SUCCESS;
}

// ibv_rereg_mr takes no address for work requests, and no length of 0.
bool can_move_to(const ib_mr_create_t& region, const void* memory) {
    return region.length != 0 && HcaMrBase(&region) == reinterpret_cast<ULONG_PTR>(memory);
}

// A change that the kernel made is not undone by a cancel.
NTSTATUS modify_mr(HCA_MR* mr, const ib_mr_mod_t* modify, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_mr_create_t region = HcaModifiedMr(mr, modify);
    void* memory = nullptr;
    if (const NTSTATUS status = check_region(mr, region, irp, memory); !NT_SUCCESS(status))
        return status;
    const bool moves = (modify->opts & IB_MR_MOD_ADDR) != 0;
    if (moves && !can_move_to(region, memory)) return STATUS_NOT_SUPPORTED;
    const bool has_rights = (modify->opts & IB_MR_MOD_ACCESS) != 0;
    const verbs_context& opened = context_of(mr->Pd);
    ibv_mr* its = extension_of(mr).region;
    const int result = opened.verbs().rereg_mr(its, static_cast<int>(modify->opts),
                                               extension_of(HcaModifiedPd(mr, modify)).domain,
                                               moves ? memory : nullptr, moves ? region.length : 0,
                                               has_rights ? access_flags(region.access_ctrl) : 0);
    const int error = errno;
    if (result != 0 && result != IBV_REREG_MR_ERR_DO_FORK_OLD)
        return failure_of_change(opened, result, error);
    set_keys(mr, *its, region);
    return STATUS_SUCCESS;
}

// The kernel reports a region to which windows are bound as EBUSY, or EINVAL. After any other
// failure the region ends with the context.
NTSTATUS deregister_mr(HCA_MR* mr, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    const int error = failure_of(context_of(mr->Pd).verbs().dereg_mr(extension_of(mr).region));
    const bool may_be_bound = (mr->Create.access_ctrl & IB_AC_MW_BIND) != 0;
    return may_be_bound && (error == EBUSY || error == EINVAL) ? STATUS_DEVICE_BUSY
                                                               : STATUS_SUCCESS;
}

NTSTATUS query_mr(HCA_MR* mr, ib_mr_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_mr_create_t& region = mr->Create;
    const ibv_mr* its = extension_of(mr).region;
    ib_mr_attr_t made{};
    made.size = sizeof(made);
    made.access_ctrl = region.access_ctrl;
    made.h_pd = &mr->Pd->Pd;
    made.local_lb = HcaMrBase(&region);
    made.local_ub = made.local_lb + region.length;
    made.lkey = its->lkey;
    if (is_remote(region)) {
        made.remote_lb = made.local_lb;
        made.remote_ub = made.local_ub;
        made.rkey = its->rkey;
    }
    return HcaCopyAttributes(&made, sizeof(made), attr, size, irp);
}

} // namespace irpverbs::hca_rdma
