// The software HCA's operations for the verbs of channel adapters and ports.
#include "adapter.hpp"
#include "address_vectors.hpp"
#include "completion_queue.hpp"
#include "memory_verbs.hpp"
#include "memory_windows.hpp"
#include "queue_pair.hpp"
#include "shared_receives.hpp"

#include <ci/support/address_space.hpp>
#include <ci/support/requestor.hpp>

#include <algorithm>
#include <cstring>

namespace irpverbs::hca_software {

namespace {

// The operations of on-demand paging, as IB_CA_EXTENDED_ATTR has them. Source:
// ibv_query_device_ex(3).
constexpr ULONG odp_send = 1;
constexpr ULONG odp_receive = 2;
constexpr ULONG odp_write = 4;
constexpr ULONG odp_read = 8;
constexpr ULONG odp_atomic = 16;
constexpr ULONG odp_shared_receive = 32;

// No page is ever locked in memory.
void fill_on_demand_paging(IB_CA_EXTENDED_ATTR& attr) {
    attr.OnDemandPaging = 1;
    attr.OnDemandUd = odp_send | odp_receive | odp_shared_receive;
    attr.OnDemandUc = attr.OnDemandUd | odp_write;
    attr.OnDemandRc = attr.OnDemandXrc = attr.OnDemandUc | odp_read | odp_atomic;
}

IB_CA_ATTR attributes_of(const node& from) {
    IB_CA_ATTR attr{};
    attr.VendorId = from.vendor_id;
    attr.VendorPartId = from.device_id;
    attr.NodeGuid = from.guid;
    attr.SystemImageGuid = from.system_image_guid;
    std::memcpy(attr.NodeDescription, from.description.data(),
                std::min<std::size_t>(from.description.size(), IB_NODE_DESCRIPTION_SIZE));
    attr.Capabilities =
        IB_CA_CAP_BAD_PKEY_COUNTER | IB_CA_CAP_BAD_QKEY_COUNTER | IB_CA_CAP_SHUTDOWN_PORT |
        IB_CA_CAP_INIT_TYPE | IB_CA_CAP_PORT_ACTIVE_EVENT | IB_CA_CAP_SYSTEM_IMAGE_GUID |
        IB_CA_CAP_CQ_RESIZE | IB_CA_CAP_UD_MULTICAST | IB_CA_CAP_CURRENT_QP_STATE_MODIFIER |
        IB_CA_CAP_ZERO_BASED_ADDRESS | IB_CA_CAP_SRQ_RESIZE | IB_CA_CAP_MEMORY_WINDOWS |
        IB_CA_CAP_MEMORY_WINDOWS_2B | IB_CA_CAP_XRC | IB_CA_CAP_AUTO_PATH_MIGRATION;
    if (from.ports[1].ethernet != nullptr)
        attr.Capabilities &= ~(IB_CA_CAP_SHUTDOWN_PORT | IB_CA_CAP_INIT_TYPE |
                               IB_CA_CAP_UD_MULTICAST | IB_CA_CAP_AUTO_PATH_MIGRATION);
    attr.MaxQps = max_qps;
    attr.MaxQpWrs = max_qp_wrs;
    attr.MaxSges = attr.MaxSgesOfRead = max_sges;
    attr.MaxInlineData = max_inline_data;
    attr.MaxReadsAsResponderOfQp = attr.MaxReadsAsInitiatorOfQp = max_reads_of_qp;
    attr.MaxReadsAsResponder = max_reads_of_qp * max_qps;
    attr.MaxPds = max_pds;
    attr.MaxAvs = max_avs;
    if (from.ports[1].ethernet == nullptr)
        attr.MaxMulticastGroups = attr.MaxQpsOfMulticastGroup = attr.MaxMulticastAttachments =
            max_attachments;
    attr.MaxSrqs = attr.MaxXrcSrqs = max_srqs;
    attr.MaxXrcDomains = max_xrc_domains;
    attr.MaxSrqWrs = max_qp_wrs;
    attr.MaxSrqSges = max_sges;
    attr.MaxMrs = max_mrs;
    attr.MaxMrSize = max_mr_size;
    attr.MaxMws = max_mws;
    attr.MaxCqs = attr.MaxCompletionHandlers = max_cqs; // each queue has its own up-calls
    attr.MaxCqes = max_cqes;
    attr.PageSizes = ULONGLONG{1} << page_bits;
    attr.MaxFastRegistrationPages = max_fast_pages;
    attr.MaxPKeys = static_cast<USHORT>(from.ports[1].pkeys.size());
    attr.Atomicity = IB_ATOMIC_GLOBAL;
    attr.PortCount = static_cast<ULONG>(from.ports.size() - 1);
    attr.Extended.Flags = IB_CA_FLAG_ATOMIC_WRITE;
    fill_on_demand_paging(attr.Extended);
    return attr;
}

adapter& adapter_of(const HCA_CA* ca) { return adapter::of(ca->Device); }

NTSTATUS submit(PDEVICE_OBJECT device, PIRP irp) { return adapter::of(device).submit(irp); }

void release_capabilities(port& from, const HCA_CA* holder, ULONG which) {
    std::erase_if(from.capability_holders, [&](const std::pair<ULONG, const HCA_CA*>& each) {
        const bool released = each.second == holder && (each.first & which) != 0;
        if (released) from.capabilities &= ~each.first;
        return released;
    });
}

NTSTATUS open_ca(HCA_CA* ca, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    if (adapter_of(ca).owner_fabric().checks_memory())
        ci::set_client_memory(&ca->Ca, &ci::address_space::own());
    return STATUS_SUCCESS;
}

NTSTATUS close_ca(HCA_CA* ca, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    adapter& self = adapter_of(ca);
    return self.owner_fabric().change([&] {
        for (port& each : self.own_node().ports) {
            const ULONG before = each.capabilities;
            release_capabilities(each, ca, ~ULONG{0});
            if (each.capabilities != before) self.owner_fabric().raise_capabilities(each);
        }
        return STATUS_SUCCESS;
    });
}

/// Plain values in non-paged memory.
template <class Value>
class pool_array {
public:
    explicit pool_array(std::size_t count)
        : values_(static_cast<Value*>(
              ExAllocatePool2(POOL_FLAG_NON_PAGED, count * sizeof(Value), tag))) {}
    ~pool_array() {
        if (values_ != nullptr) ExFreePoolWithTag(values_, tag);
    }
    pool_array(const pool_array&) = delete;
    pool_array& operator=(const pool_array&) = delete;

    explicit operator bool() const { return values_ != nullptr; }
    Value& operator[](std::size_t index) const { return values_[index]; }
    Value* get() const { return values_; }

private:
    static constexpr ULONG tag = 0x61637773; // "swca"
    Value* values_;
};

NTSTATUS query_ca(HCA_CA* ca, IB_CA_ATTR* attr, SIZE_T size, PIRP irp) {
    adapter& self = adapter_of(ca);
    const std::size_t count = self.own_node().ports.size() - 1;
    const pool_array<IB_PORT_ATTR> ports(count);
    const pool_array<HCA_PORT_TABLES> tables(count);
    if (!ports || !tables) return STATUS_INSUFFICIENT_RESOURCES;
    return self.owner_fabric().with_lock([&] {
        for (std::size_t i = 0; i < count; ++i) {
            ports[i] = attributes_of(self.own_node().ports[i + 1]);
            tables[i] = tables_of(self.own_node().ports[i + 1]);
        }
        IB_CA_ATTR fixed = attributes_of(self.own_node());
        // The client's processors do not take part in the order of atomic operations.
        if (ci::client_memory(ca) != nullptr) fixed.Atomicity = IB_ATOMIC_HCA;
        return HcaCopyCaAttributes(&fixed, ports.get(), tables.get(), attr, size, irp);
    });
}

NTSTATUS query_port(HCA_CA* ca, UCHAR number, IB_PORT_ATTR* attr, SIZE_T size, PIRP irp) {
    return adapter_of(ca).query_port(number, attr, size, irp);
}

NTSTATUS modify_ca(HCA_CA* ca, ULONG flags, const IB_MODIFY_CA* modify, PIRP) try {
    adapter& self = adapter_of(ca);
    return self.owner_fabric().change([&] {
        if ((flags & IB_MODIFY_CA_SYSTEM_IMAGE_GUID) != 0) {
            self.own_node().system_image_guid = modify->SystemImageGuid;
            self.owner_fabric().raise_system_image(self.own_node());
        }
        if ((flags & IB_MODIFY_CA_NODE_DESCRIPTION) != 0) {
            const auto* text = reinterpret_cast<const char*>(modify->NodeDescription);
            self.own_node().description.assign(text, strnlen(text, IB_NODE_DESCRIPTION_SIZE));
            self.owner_fabric().raise_description(self.own_node());
        }
        return STATUS_SUCCESS;
    });
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

// Takes all requested capabilities, or none.
bool acquire_capabilities(port& at, const HCA_CA* ca, const IB_MODIFY_PORT& modify) {
    const ULONG asked = modify.SetCapabilities | modify.ClearCapabilities;
    for (const auto& [capability, holder] : at.capability_holders)
        if ((capability & asked) != 0 && holder != ca) return false;
    release_capabilities(at, ca, modify.ClearCapabilities);
    for (ULONG bit = 1; bit != 0; bit <<= 1) {
        if ((modify.SetCapabilities & ~at.capabilities & bit) == 0) continue;
        at.capabilities |= bit;
        at.capability_holders.emplace_back(bit, ca);
    }
    return true;
}

NTSTATUS modify_port(HCA_CA* ca, UCHAR number, ULONG flags, const IB_MODIFY_PORT* modify,
                     PIRP) try {
    adapter& self = adapter_of(ca);
    port& at = *self.find_port(number);
    constexpr ULONG of_subnets = IB_MODIFY_PORT_SHUTDOWN | IB_MODIFY_PORT_INIT_TYPE;
    if (self.is_on_ethernet() && (flags & of_subnets) != 0) return STATUS_NOT_SUPPORTED;
    return self.owner_fabric().change([&] {
        const ULONG before = at.capabilities;
        if ((flags & IB_MODIFY_PORT_CAPABILITIES) != 0 && !acquire_capabilities(at, ca, *modify))
            return STATUS_FILE_LOCK_CONFLICT;
        if (at.capabilities != before) self.owner_fabric().raise_capabilities(at);
        if ((flags & IB_MODIFY_PORT_INIT_TYPE) != 0) at.init_type = modify->InitType;
        if ((flags & IB_MODIFY_PORT_RESET_QKEY_VIOLATIONS) != 0) at.qkey_violations = 0;
        if ((flags & IB_MODIFY_PORT_SHUTDOWN) != 0) self.owner_fabric().enable(at, false);
        return STATUS_SUCCESS;
    });
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // namespace

const HCA_OPERATIONS operations = {
    HCA_SIZE_AND_VERSION(HCA_OPERATIONS),
    .Submit = submit,
    .OpenCa = open_ca,
    .CloseCa = close_ca,
    .QueryCa = query_ca,
    .QueryPort = query_port,
    .ModifyCa = modify_ca,
    .ModifyPort = modify_port,
    .CreateCq = create_cq,
    .DestroyCq = destroy_cq,
    .QueryCq = query_cq,
    .ResizeCq = resize_cq,
    .PollCq = poll_cq,
    .ArmCq = arm_cq,
    .RegisterMadAgent = register_mad_agent,
    .DeregisterMadAgent = deregister_mad_agent,
    .SendMad = send_mad,
    .ModifyMadAgent = modify_mad_agent,
    .AllocatePd = allocate_pd,
    .DeallocatePd = deallocate_pd,
    .RegisterMr = register_mr,
    .DeregisterMr = deregister_mr,
    .QueryMr = query_mr,
    .CreateQp = create_qp,
    .DestroyQp = destroy_qp,
    .ModifyQp = modify_qp,
    .QueryQp = query_qp,
    .FlushQp = flush_qp,
    .CreateAv = create_av,
    .DestroyAv = destroy_av,
    .ModifyAv = modify_av,
    .QueryAv = query_av,
    .AttachMcast = attach_mcast,
    .DetachMcast = detach_mcast,
    .CreateSrq = create_srq,
    .DestroySrq = destroy_srq,
    .ModifySrq = modify_srq,
    .QuerySrq = query_srq,
    .AllocateMw = allocate_mw,
    .DeallocateMw = deallocate_mw,
    .QueryMw = query_mw,
    .BindMw = bind_mw,
    .ModifyMr = modify_mr,
    .AllocateFrmr = allocate_frmr,
    .AllocateXrcd = allocate_xrcd,
    .DeallocateXrcd = deallocate_xrcd,
    .RegisterPmr = register_pmr,
    .RegisterSmr = register_smr,
    .ModifyPmr = modify_pmr,
};

bool is_software(const DEVICE_OBJECT* device) { return HcaDeviceOperations(device) == &operations; }

} // namespace irpverbs::hca_software
