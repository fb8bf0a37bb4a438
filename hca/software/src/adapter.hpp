// An HCA on the fabric: the FDO of a node, and its command queues.
#pragma once

#include "fabric.hpp"
#include "key_table.hpp"
#include "mad_agents.hpp"
#include "memory_accesses.hpp"
#include "object_count.hpp"
#include "port_attributes.hpp"
#include "qp_table.hpp"
#include "qp_traffic.hpp"
#include "shared_receives.hpp"

#include "transport/early_packets.hpp"

#include <atomic>
#include <vector>

namespace irpverbs::hca_software {

inline constexpr ULONG max_early_packets = 2048;

/// The HcaDeviceExtension of the FDO.
struct device_extension {
    adapter* owner;
};

class adapter {
public:
    adapter(fabric& its_fabric, node& its_node);
    ~adapter();
    adapter(const adapter&) = delete;
    adapter& operator=(const adapter&) = delete;

    static adapter& of(const DEVICE_OBJECT* device) {
        void* extension = HcaDeviceExtension(const_cast<DEVICE_OBJECT*>(device));
        return *static_cast<device_extension*>(extension)->owner;
    }

    /// Makes the FDO. A failure leaves no FDO.
    NTSTATUS start();
    DEVICE_OBJECT* device() const { return device_; }
    fabric& owner_fabric() const { return fabric_; }
    node& own_node() const { return node_; }

    /// Returns the port of that number, or null.
    port* find_port(ULONG number) const;

    /// True for an HCA of "roce:".
    bool is_on_ethernet() const { return node_.ports[1].ethernet != nullptr; }

    /// Completes CiQueryPort.
    NTSTATUS query_port(ULONG number, IB_PORT_ATTR* attr, SIZE_T size, IRP* irp) {
        return attributes_[number].complete_query(fabric_, node_, number, attr, size, irp);
    }

    /// The receivers of the datagrams that arrive at its ports.
    mad_agents& agents() { return agents_; }
    key_table& keys() { return keys_; }
    qp_table& qps() { return qps_; }
    srq_table& xrc_srqs() { return xrc_srqs_; }
    qp_traffic& traffic() { return traffic_; }
    memory_accesses& accesses() { return accesses_; }
    /// Null: packets arrive in order.
    transport::early_packet_room* early_packets() {
        return is_on_ethernet() ? &early_packets_ : nullptr;
    }

    /// A number for a queue pair that no other one of this HCA ever has.
    std::uint64_t new_queue_pair() { return ++queue_pairs_; }

    object_count& pds() { return pds_; }
    object_count& avs() { return avs_; }
    object_count& srqs() { return srqs_; }
    object_count& xrc_domains() { return xrc_domains_; }

    void set_commands(HCA_SOFTWARE_COMMANDS commands) { commands_.store(commands); }
    /// HCA_OPERATIONS.Submit: executes the command in the selected way.
    NTSTATUS submit(IRP* irp) {
        const HCA_SOFTWARE_COMMANDS mode = commands_.load();
        return mode == HcaCommandsInline ? HcaExecute(irp) : submit_by(mode, irp);
    }

private:
    NTSTATUS submit_by(HCA_SOFTWARE_COMMANDS mode, IRP* irp);

    fabric& fabric_;
    node& node_;
    DEVICE_OBJECT* device_ = nullptr;
    std::atomic<HCA_SOFTWARE_COMMANDS> commands_{HcaCommandsInline};
    HCA_COMMAND_QUEUE dpc_commands_;
    HCA_COMMAND_QUEUE worker_commands_;
    std::vector<cached_attributes> attributes_; // one per port
    mad_agents agents_;
    key_table keys_;
    std::atomic<std::uint64_t> queue_pairs_{no_queue_pair}; // created so far
    qp_table qps_;
    srq_table xrc_srqs_;
    qp_traffic traffic_;
    memory_accesses accesses_;
    transport::early_packet_room early_packets_{max_early_packets};
    object_count pds_;
    object_count avs_;
    object_count srqs_;
    object_count xrc_domains_;
};

/// The operations of the driver.
extern const HCA_OPERATIONS operations;
SIZE_T cq_extension_size();
bool is_software(const DEVICE_OBJECT* device);

} // namespace irpverbs::hca_software
