// What the driver does for the verbs.
#include "adapter.hpp"

#include <hca/rdma.h>

#include <climits>
#include <new>

namespace irpverbs::hca_rdma {

namespace {

NTSTATUS submit(PDEVICE_OBJECT device, PIRP irp) { return adapter::of(device).submit(irp); }

NTSTATUS open_ca(HCA_CA* ca, CI_UDATA*, PIRP) {
    adapter& self = adapter::of(ca->Device);
    self.opened();
    if (!HcaIsDead(ca->Device)) return STATUS_SUCCESS;
    self.closed();
    return STATUS_FILE_FORCED_CLOSED;
}

NTSTATUS close_ca(HCA_CA* ca, CI_UDATA*, PIRP) {
    adapter::of(ca->Device).closed();
    return STATUS_SUCCESS;
}

// `give(adapter, facts)` answers the verb.
template <class Give>
NTSTATUS query(const HCA_CA* ca, const Give& give) try {
    const adapter& self = adapter::of(ca->Device);
    const ca_facts facts(self.world(), self.name());
    if (facts.error() == 0) return give(self, facts);
    if (!facts.gone()) return STATUS_IO_DEVICE_ERROR;
    HcaReportFatal(ca->Device);
    return STATUS_FILE_FORCED_CLOSED;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS query_ca(HCA_CA* ca, IB_CA_ATTR* attr, SIZE_T size, PIRP irp) {
    return query(ca, [&](const adapter& self, const ca_facts& facts) {
        std::vector<port_attributes> ports;
        for (unsigned number = 1; number <= facts.port_count(); ++number)
            ports.push_back(attributes_of(self.world(), facts.port(number)));
        std::vector<IB_PORT_ATTR> fixed_of_ports;
        std::vector<HCA_PORT_TABLES> tables;
        for (const port_attributes& each : ports) {
            fixed_of_ports.push_back(each.fixed);
            tables.push_back(each.tables());
        }
        const IB_CA_ATTR fixed = attributes_of(self.world(), *facts);
        return HcaReturnCa(&fixed, fixed_of_ports.data(), tables.data(), attr, size, irp);
    });
}

NTSTATUS query_port(HCA_CA* ca, UCHAR number, IB_PORT_ATTR* attr, SIZE_T size, PIRP irp) {
    return query(ca, [&](const adapter& self, const ca_facts& facts) {
        if (number > facts.port_count()) return STATUS_IO_DEVICE_ERROR;
        const port_attributes port = attributes_of(self.world(), facts.port(number));
        const HCA_PORT_TABLES tables = port.tables();
        return HcaReturnPort(&port.fixed, &tables, attr, size, irp);
    });
}

agent_file*& file_of(HCA_MAD_AGENT* agent) {
    return static_cast<agent_part*>(agent->Extension)->file;
}

NTSTATUS register_mad_agent(HCA_MAD_AGENT* agent, PIRP) try {
    const adapter& self = adapter::of(agent->Ca->Device);
    std::unique_ptr<agent_file> made;
    const NTSTATUS status = agent_file::open(self.world(), self.name().c_str(),
                                             self.port(agent->Agent.Attr.PortNumber), *agent, made);
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

const HCA_OPERATIONS operations = {
    .Submit = submit,
    .OpenCa = open_ca,
    .CloseCa = close_ca,
    .QueryCa = query_ca,
    .QueryPort = query_port,
    .ModifyCa = nullptr,
    .ModifyPort = nullptr,
    .CreateCq = nullptr,
    .DestroyCq = nullptr,
    .QueryCq = nullptr,
    .ResizeCq = nullptr,
    .PollCq = nullptr,
    .ArmCq = nullptr,
    .RegisterMadAgent = register_mad_agent,
    .DeregisterMadAgent = deregister_mad_agent,
    .SendMad = send_mad,
};

} // namespace irpverbs::hca_rdma

extern "C" NTSTATUS HcaRdmaSetLookInterval(ib_guid_t guid, ULONG milliseconds) {
    using namespace irpverbs::hca_rdma;
    const DEVICE_OBJECT* device = HcaFromGuid(guid);
    if (device == nullptr || HcaDeviceOperations(device) != &operations)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    if (milliseconds == 0 || milliseconds > INT_MAX) return STATUS_INVALID_PARAMETER;
    adapter::of(device).monitor().set_interval(milliseconds);
    return STATUS_SUCCESS;
}
