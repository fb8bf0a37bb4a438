// A real HCA: the FDO of a device that the kernel knows by its name. It has two sides, and may lack
// one of them: verbs (libibverbs) and management (libibumad).
#pragma once

#include "agent_file.hpp"
#include "port_monitor.hpp"
#include "verbs_context.hpp"

#include <optional>

namespace irpverbs::hca_rdma {

class adapter;
struct object_extension;

/// The HcaDeviceExtension of the FDO.
struct device_extension {
    adapter* owner;
};

/// The extension of an agent.
struct agent_extension {
    agent_file* file;
};

class adapter {
public:
    adapter(const os_interface& os, std::string name);
    ~adapter();
    adapter(const adapter&) = delete;
    adapter& operator=(const adapter&) = delete;

    static adapter& of(const DEVICE_OBJECT* device) {
        void* part = HcaDeviceExtension(const_cast<DEVICE_OBJECT*>(device));
        return *static_cast<device_extension*>(part)->owner;
    }

    /// Makes the FDO. A failure leaves no FDO and writes the reason to `problem`.
    /// STATUS_DEVICE_REMOVED: the device has been removed.
    NTSTATUS start(std::string& problem);
    DEVICE_OBJECT* device() const { return device_; }
    const os_interface& os() const { return os_; }
    const std::string& name() const { return name_; }
    port_monitor& monitor() { return monitor_; }
    bool has_verbs() const { return verbs_.has_value(); }
    bool has_agents() const { return has_agents_; }
    UCHAR port_count() const { return static_cast<UCHAR>(ports_.size()); }
    const port_limits& port(UCHAR number) const { return ports_[number - 1u]; }

    /// The attributes of an HCA with verbs when it was attached.
    const IB_CA_ATTR& limits() const { return limits_; }
    /// The context of an HCA with verbs, while it is open.
    verbs_context& context() const { return *context_; }

    /// HCA_OPERATIONS.Submit: a work item calls the kernel where it may sleep.
    NTSTATUS submit(IRP* irp);
    /// The first open CA opens the device and starts its monitor, the last one closes it. One call
    /// at a time.
    NTSTATUS acquire_device();
    void release_device();

private:
    NTSTATUS read_verbs(std::string& problem, ib_guid_t& guid);
    NTSTATUS read_management(std::string& problem, ib_guid_t& guid);
    NTSTATUS check_access(unsigned port, std::string& problem) const;
    int cause_of(int error, const std::string& file) const;
    NTSTATUS describe(int error, const std::string& file, std::string& problem) const;
    NTSTATUS submit_send(const IO_STACK_LOCATION* location, IRP* irp);
    HCA_COMMAND_QUEUE& commands_of(object_extension& object, const IO_STACK_LOCATION* location);

    const os_interface& os_;
    const std::string name_;
    std::optional<verbs_device> verbs_;
    IB_CA_ATTR limits_{};
    bool has_agents_ = false;
    DEVICE_OBJECT* device_ = nullptr;
    std::vector<port_limits> ports_;
    port_monitor monitor_;
    unsigned opens_ = 0;
    std::unique_ptr<verbs_context> context_;
    HCA_COMMAND_QUEUE commands_;
    HCA_COMMAND_QUEUE sends_;                        // sends don't wait for other verbs
    std::vector<HCA_COMMAND_QUEUE> object_commands_; // an object always uses the same one
    std::atomic<unsigned> next_object_commands_{0};
};

/// The operations of the driver.
extern const HCA_OPERATIONS operations;

} // namespace irpverbs::hca_rdma
