// The driver's operations for the verbs.
#include "operations.hpp"

#include "adapter.hpp"
#include "address_vectors.hpp"
#include "memory_verbs.hpp"
#include "memory_windows.hpp"
#include "qp_operations.hpp"
#include "shared_receives.hpp"
#include "verbs_attributes.hpp"

#include <hca/rdma.h>

#include <climits>
#include <new>

namespace irpverbs::hca_rdma {

namespace {

NTSTATUS submit(PDEVICE_OBJECT device, PIRP irp) { return adapter::of(device).submit(irp); }

NTSTATUS unreadable(const HCA_CA* ca, const ca_snapshot& snapshot) {
    if (!snapshot.gone()) return STATUS_IO_DEVICE_ERROR;
    HcaReportFatal(ca->Device);
    return STATUS_FILE_FORCED_CLOSED;
}

NTSTATUS read_port_by_verbs(const adapter& self, UCHAR number, bool wanted, port_attributes& made) {
    verbs_context& opened = self.context();
    const verbs_query query(opened.verbs(), opened.get());
    int error = query.port(number, made);
    if (error == 0 && wanted) error = query.tables(self.port_count(), made);
    return opened.failure(error);
}

// True if the IRP was cancelled while the kernel worked; the new object is then undone.
bool is_cancelled(const IRP* irp) { return irp->Cancel != FALSE; }

NTSTATUS open_ca(HCA_CA* ca, CI_UDATA* user, PIRP irp) try {
    HcaCopyUserData(user, nullptr, 0);
    adapter& self = adapter::of(ca->Device);
    if (const NTSTATUS status = self.acquire_device(); !NT_SUCCESS(status)) return status;
    const bool failed = HcaIsFailed(ca->Device) != FALSE;
    if (!failed && !is_cancelled(irp)) return STATUS_SUCCESS;
    self.release_device();
    return failed ? STATUS_FILE_FORCED_CLOSED : STATUS_CANCELLED;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS close_ca(HCA_CA* ca, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    release_ports(ca);
    adapter::of(ca->Device).release_device();
    return STATUS_SUCCESS;
}

NTSTATUS read_ca(const HCA_CA* ca, IB_CA_ATTR& made) {
    const adapter& self = adapter::of(ca->Device);
    if (self.has_verbs()) {
        verbs_context& opened = self.context();
        if (const int error = verbs_query(opened.verbs(), opened.get()).device(made); error != 0)
            return opened.failure(error);
    } else {
        const ca_snapshot snapshot(self.os(), self.name());
        if (snapshot.error() != 0) return unreadable(ca, snapshot);
        made = attributes_of(*snapshot);
    }
    read_description(self.os(), self.name(), made);
    made.PortCount = self.port_count();
    return STATUS_SUCCESS;
}

NTSTATUS query_ca(HCA_CA* ca, IB_CA_ATTR* attr, SIZE_T size, PIRP irp) try {
    IB_CA_ATTR fixed{};
    NTSTATUS status = read_ca(ca, fixed);
    std::vector<port_attributes> ports(fixed.PortCount);
    std::vector<IB_PORT_ATTR> fixed_of_ports;
    std::vector<HCA_PORT_TABLES> tables;
    for (port_attributes& each : ports) {
        const auto number = static_cast<UCHAR>(fixed_of_ports.size() + 1);
        if (NT_SUCCESS(status)) status = read_port(ca, number, size > sizeof(fixed), each);
        fixed_of_ports.push_back(each.fixed);
        tables.push_back(each.tables());
    }
    if (!NT_SUCCESS(status)) return status;
    return HcaCopyCaAttributes(&fixed, fixed_of_ports.data(), tables.data(), attr, size, irp);
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS query_port(HCA_CA* ca, UCHAR number, IB_PORT_ATTR* attr, SIZE_T size, PIRP irp) try {
    port_attributes port;
    const NTSTATUS status = read_port(ca, number, size > sizeof(port.fixed), port);
    if (!NT_SUCCESS(status)) return status;
    const HCA_PORT_TABLES tables = port.tables();
    return HcaCopyPortAttributes(&port.fixed, &tables, attr, size, irp);
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

agent_file*& file_of(HCA_MAD_AGENT* agent) {
    return static_cast<agent_extension*>(agent->Extension)->file;
}

NTSTATUS register_mad_agent(HCA_MAD_AGENT* agent, PIRP irp) try {
    const adapter& self = adapter::of(agent->Ca->Device);
    if (!self.has_agents()) return STATUS_NOT_SUPPORTED;
    std::unique_ptr<agent_file> made;
    const NTSTATUS status = agent_file::open(self.os(), self.name().c_str(),
                                             self.port(agent->Agent.Attr.PortNumber), *agent, made);
    if (NT_SUCCESS(status) && is_cancelled(irp)) return STATUS_CANCELLED;
    file_of(agent) = made.release();
    return status;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS deregister_mad_agent(HCA_MAD_AGENT* agent, PIRP) {
    delete file_of(agent);
    return STATUS_SUCCESS;
}

NTSTATUS send_mad(HCA_MAD_AGENT* agent, const IB_MAD_SEND* send, PIRP) try {
    return file_of(agent)->send(*send);
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // namespace

NTSTATUS read_port(const HCA_CA* ca, UCHAR number, bool wanted, port_attributes& made) {
    const adapter& self = adapter::of(ca->Device);
    if (self.has_verbs()) return read_port_by_verbs(self, number, wanted, made);
    const ca_snapshot snapshot(self.os(), self.name());
    if (snapshot.error() != 0) return unreadable(ca, snapshot);
    if (number > snapshot.port_count()) return STATUS_IO_DEVICE_ERROR;
    made = attributes_of(self.os(), snapshot.port(number));
    return STATUS_SUCCESS;
}

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
    .ModifyMadAgent = nullptr, // umad has only QP0 and QP1
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
    .AllocateFrmr = nullptr, // libibverbs has no fast registration
    .AllocateXrcd = nullptr, // no device at hand has XRC
    .DeallocateXrcd = nullptr,
    .RegisterPmr = nullptr, // libibverbs has no physical addresses
    .RegisterSmr = nullptr, // a second registration has the pages that are mapped then
    .ModifyPmr = nullptr,   // as RegisterPmr
};

} // namespace irpverbs::hca_rdma

extern "C" NTSTATUS HcaRdmaSetPollInterval(ib_guid_t guid, ULONG milliseconds) {
    using namespace irpverbs::hca_rdma;
    const DEVICE_OBJECT* device = HcaFromGuid(guid);
    if (device == nullptr || HcaDeviceOperations(device) != &operations)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    if (milliseconds == 0 || milliseconds > INT_MAX) return STATUS_INVALID_PARAMETER;
    adapter::of(device).monitor().set_interval(milliseconds);
    return STATUS_SUCCESS;
}
