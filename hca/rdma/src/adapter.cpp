#include "adapter.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace irpverbs::hca_rdma {

adapter::adapter(const outside& world, std::string name)
    : world_(world), name_(std::move(name)), monitor_(world, name_) {
    HcaInitializeCommandQueue(&commands_, HcaServeByWorkItem, nullptr);
    HcaInitializeCommandQueue(&sends_, HcaServeByWorkItem, nullptr);
}

adapter::~adapter() {
    if (device_ == nullptr) return;
    HcaRundownCommandQueue(&commands_);
    HcaRundownCommandQueue(&sends_);
    HcaDeleteDevice(device_);
}

NTSTATUS adapter::start(std::string& problem) {
    HCA_DEVICE description{};
    if (const NTSTATUS status = read_ports(problem, description.NodeGuid); !NT_SUCCESS(status))
        return status;
    description.Operations = &operations;
    description.Name = name_.c_str();
    description.PortCount = static_cast<UCHAR>(ports_.size());
    description.ExtensionSize = sizeof(device_part);
    description.MadAgentExtensionSize = sizeof(agent_part);
    DEVICE_OBJECT* made = nullptr;
    if (const NTSTATUS status = HcaCreateDevice(&description, &made); !NT_SUCCESS(status)) {
        problem = name_ + ": " + NtStatusMeaning(status);
        return status;
    }
    static_cast<device_part*>(HcaDeviceExtension(made))->owner = this;
    device_ = made;
    return STATUS_SUCCESS;
}

NTSTATUS adapter::read_ports(std::string& problem, ib_guid_t& guid) {
    const ca_facts facts(world_, name_);
    if (facts.error() != 0 || facts.port_count() == 0) {
        problem = name_ + ": libibumad can't read it: " +
                  (facts.error() != 0 ? std::strerror(facts.error()) : "it has no ports");
        return STATUS_NO_SUCH_DEVICE;
    }
    guid = be64toh(facts->node_guid);
    for (unsigned number = 1; number <= facts.port_count(); ++number) {
        if (const NTSTATUS status = check_access(number, problem); !NT_SUCCESS(status))
            return status;
        const IB_PORT_ATTR attr = attributes_of(world_, facts.port(number)).fixed;
        ports_.push_back({is_infiniband(facts.port(number)), attr.GidCount, attr.PKeyCount});
    }
    return STATUS_SUCCESS;
}

// A port without a umad device has no agents, but is there.
NTSTATUS adapter::check_access(unsigned port, std::string& problem) const {
    const auto number = static_cast<int>(port);
    if (const int descriptor = world_.open_port(name_.c_str(), number); descriptor >= 0) {
        world_.close_port(descriptor);
        return STATUS_SUCCESS;
    }
    const int error = errno;
    if (error != EACCES && error != EPERM) return STATUS_SUCCESS;
    std::array<char, 256> path{};
    std::string file = "umad device of " + name_;
    // libibumad names the file beside it, whose name ends in the same number.
    if (world_.get_issm_path(name_.c_str(), number, path.data(), path.size()) == 0) {
        file = path.data();
        if (const std::size_t at = file.rfind("issm"); at != std::string::npos)
            file.replace(at, 4, "umad");
    }
    problem = file + ": " + std::strerror(error) +
              ": it must be readable and writable (by root, or " + "by a udev rule)";
    return STATUS_ACCESS_DENIED;
}

NTSTATUS adapter::submit(IRP* irp) {
    const IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(irp);
    if (location->MinorFunction != HCA_MN_SEND_MAD) return HcaQueueCommand(&commands_, irp);
    const auto* agent = static_cast<HCA_MAD_AGENT*>(location->Parameters.Others.Argument1);
    // On Ethernet a send may wait a second for a neighbour to be found.
    const bool sleeps = !port(agent->Agent.Attr.PortNumber).infiniband;
    if (sleeps || KeGetCurrentIrql() >= DISPATCH_LEVEL) return HcaQueueCommand(&sends_, irp);
    return HcaExecute(irp);
}

void adapter::opened() {
    if (opens_++ == 0) monitor_.start(device_);
}

void adapter::closed() {
    if (--opens_ == 0) monitor_.stop();
}

} // namespace irpverbs::hca_rdma
