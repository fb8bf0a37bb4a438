// A real HCA: the FDO of a channel adapter that libibumad knows by its name.
#pragma once

#include "agent_file.hpp"
#include "port_monitor.hpp"

namespace irpverbs::hca_rdma {

class adapter;

/// HcaDeviceExtension of its FDO.
struct device_part {
    adapter* owner;
};

/// Extension of an agent.
struct agent_part {
    agent_file* file;
};

class adapter {
public:
    adapter(const outside& world, std::string name);
    ~adapter();
    adapter(const adapter&) = delete;
    adapter& operator=(const adapter&) = delete;

    static adapter& of(const DEVICE_OBJECT* device) {
        void* part = HcaDeviceExtension(const_cast<DEVICE_OBJECT*>(device));
        return *static_cast<device_part*>(part)->owner;
    }

    /// Makes the FDO. Whatever fails leaves none, and is told in `problem`.
    NTSTATUS start(std::string& problem);
    DEVICE_OBJECT* device() const { return device_; }
    const outside& world() const { return world_; }
    const std::string& name() const { return name_; }
    port_monitor& monitor() { return monitor_; }
    const port_limits& port(UCHAR number) const { return ports_[number - 1u]; }

    /// HCA_OPERATIONS.Submit: where the kernel may sleep, on a work item.
    NTSTATUS submit(IRP* irp);
    /// The first open CA has the ports watched, the last lets go. One call at a time.
    void opened();
    void closed();

private:
    NTSTATUS read_ports(std::string& problem, ib_guid_t& guid);
    NTSTATUS check_access(unsigned port, std::string& problem) const;

    const outside& world_;
    const std::string name_;
    DEVICE_OBJECT* device_ = nullptr;
    std::vector<port_limits> ports_;
    port_monitor monitor_;
    unsigned opens_ = 0;
    HCA_COMMAND_QUEUE commands_;
    HCA_COMMAND_QUEUE sends_; // do not wait for the others
};

/// What the adapters' driver does; the rows of HCA_OPERATIONS.
extern const HCA_OPERATIONS operations;

} // namespace irpverbs::hca_rdma
