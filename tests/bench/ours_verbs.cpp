// Verbs of the software HCA: a query, open and close, and an event.
#include "measurements.hpp"
#include "ours_hca.hpp"

#include <ci/ci.h>
#include <hca/software.h>
#include <support/topology_file.hpp>

#include <cstring>
#include <memory>
#include <vector>

namespace irpverbs::bench {
namespace {

constexpr UCHAR port = 1;

union port_block {
    IB_PORT_ATTR attr;
    UCHAR bytes[1024];
};

void call_inside(IB_CA* ca, PIRP irp, port_block& block) {
    CiQueryPort(ca, port, sizeof(block), &block.attr, prepared(irp));
}

// Calls the verb at DISPATCH_LEVEL; the DPC runs after it has returned, when the level is lowered.
void call_and_lower(IB_CA* ca, PIRP irp, port_block& block) {
    const KIRQL before = KeRaiseIrqlToDpcLevel();
    call_inside(ca, irp, block);
    KeLowerIrql(before);
}

template <HCA_SOFTWARE_COMMANDS Commands, auto Call>
void query_port(run& sample) {
    const software_hca hca;
    const open_ca ca(hca.device());
    HcaSoftwareSetCommands(hca.guid(), Commands);
    port_block block;
    std::uint64_t bytes = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        Call(ca.get(), ca.irp(), block);
        bytes += ca.irp()->IoStatus.Information;
    }
    sample.stop();
    expect(bytes == operations * block.attr.Size, "CiQueryPort");
    HcaSoftwareSetCommands(hca.guid(), HcaCommandsInline);
}

BENCH_OPAQUE void copy(void* to, const void* from, std::size_t size) {
    std::memcpy(to, from, size);
}

// The copy of the attributes to the caller, which any CiQueryPort has to make.
void copy_attributes(run& sample) {
    const software_hca hca;
    const open_ca ca(hca.device());
    port_block from, to;
    CiQueryPort(ca.get(), port, sizeof(from), &from.attr, prepared(ca.irp()));
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i)
        copy(&to, &from, from.attr.Size);
    sample.stop();
}

void open_and_close(run& sample) {
    const software_hca hca;
    const PIRP irp = IoAllocateIrp(1, FALSE);
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i)
        close(open(hca.device(), irp), irp);
    sample.stop();
    IoFreeIrp(irp);
}

// Attaches a fabric of a cluster's size from a file. One operation is one node.
void stand_up(run& sample) {
    constexpr unsigned leaves = 64, spines = 16, hosts_of_leaf = 32;
    constexpr unsigned nodes = leaves + spines + leaves * hosts_of_leaf;
    const testing::topology_file file(testing::fat_tree_file(leaves, spines, hosts_of_leaf));
    const std::uint64_t times = sample.in_batches_of(nodes) / nodes;
    for (std::uint64_t i = 0; i < times; ++i) {
        sample.start();
        const NTSTATUS status = HcaAttach(file.uri().c_str(), nullptr);
        sample.stop();
        expect(NT_SUCCESS(status), "HcaAttach");
        HcaDetach(file.uri().c_str());
    }
}

// One operation completes one IRP with the event.
void port_event(run& sample) {
    const software_hca hca;
    std::vector<std::unique_ptr<open_ca>> clients(sample.population(10'000));
    for (auto& each : clients)
        each = std::make_unique<open_ca>(hca.device());
    const std::uint64_t operations = sample.in_batches_of(clients.size());
    for (std::uint64_t i = 0; i < operations; i += clients.size()) {
        for (const auto& each : clients)
            CiGetCaPortEvent(each->get(), port, prepared(each->irp()));
        sample.start();
        HcaSoftwareClientReregister(hca.guid(), port);
        sample.stop();
        for (const auto& each : clients)
            expect(each->irp()->IoStatus.Information == IB_AE_CLIENT_REREGISTER, "port event");
    }
}

} // namespace

void add_ours_verbs(catalog& all) {
    all.add("ours/query_port", "CiQueryPort of the software HCA, completed inside the call",
            query_port<HcaCommandsInline, call_inside>);
    all.add("ours/query_port_dpc", "the same, pended and completed by a DPC",
            query_port<HcaCommandsByDpc, call_and_lower>);
    all.add("ours/copy_attributes", "copy of a port's attributes", copy_attributes);
    all.add("ours/open_close_ca", "CiOpenCa and CiCloseCa", open_and_close);
    all.add("ours/port_event_1e4", "a port event completes an IRP, 10,000 on as many CAs at once",
            port_event);
    all.add("ours/stand_up", "a node of a fabric of 2,048 hosts and 80 switches, from its file",
            stand_up);
}

} // namespace irpverbs::bench
