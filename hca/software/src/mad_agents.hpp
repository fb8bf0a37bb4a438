// The MAD agents of an adapter: the selection of a datagram's receiver, and its up-calls.
#pragma once

#include "connection_routes.hpp"

#include <ci/driver.h>

namespace irpverbs::hca_software {

class fabric;

/// One up-call runs at a time, in a DPC, without locks.
class mad_agents {
public:
    explicit mad_agents(fabric& where);
    mad_agents(const mad_agents&) = delete;
    mad_agents& operator=(const mad_agents&) = delete;

    static const SIZE_T extension_size;

    /// STATUS_SHARING_VIOLATION: another agent receives one of its methods, and the class is not
    /// communication management.
    NTSTATUS add(HCA_MAD_AGENT& agent, const port& at);
    NTSTATUS modify(HCA_MAD_AGENT& agent, const port& at, const IB_MAD_KEYS& keys);

    // Functions under the fabric's lock:

    /// STATUS_PENDING: the agent is inside an up-call, and `irp` completes after it. The peers of
    /// its connections receive disconnect requests.
    NTSTATUS remove(HCA_MAD_AGENT& agent, port& at, IRP* irp);
    NTSTATUS send(HCA_MAD_AGENT& agent, port& from, const IB_MAD_SEND& what);
    /// Returns the keys of the agent's own QP that receives the datagram; null: no agent has that
    /// QP, or it does not accept the datagram.
    const IB_MAD_KEYS* find_keys(packet& what);
    /// True if an agent receives the datagram. A response without a waiting agent has no receiver.
    bool has_receiver(packet& what) { return find_receiver(what) != nullptr; }
    /// Queues the datagram for its receiver. Ownership: `what` belongs to the table.
    void deliver(packet* what);

private:
    static constexpr unsigned max_per_run = 32;

    struct report_data;

    void send_valid(const HCA_MAD_AGENT& agent, port& from, const IB_MAD_SEND& what);
    HCA_MAD_AGENT* find_receiver(packet& what);
    HCA_MAD_AGENT* find_number(ULONG number) const;
    void share_report(packet& what);
    connection_routes::managers managers_of(UCHAR port);
    HCA_MAD_AGENT* find_qp(const port& at, ib_qpn_t qp);
    ib_qpn_t next_qp();
    bool conflicts(const IB_MAD_AGENT_ATTR& with) const;
    HCA_MAD_AGENT* next_report(report_data& data);
    IRP* end_report();
    void report(unsigned turns);
    static void report_some(KDPC* dpc, void* context, void*, void*);

    fabric& fabric_;
    KDPC dpc_{};
    // Guarded by the fabric's lock:
    std::vector<HCA_MAD_AGENT*> agents_;
    std::vector<HCA_MAD_AGENT*> managers_; // of one port, for managers_of; room for all agents
    connection_routes routes_;
    ib_qpn_t last_qp_ = 1;
    packet_queue arrived_;
    bool delivering_ = false;               // the DPC is queued or runs
    HCA_MAD_AGENT* active_agent_ = nullptr; // the agent inside an up-call
    IRP* pending_removal_ = nullptr;        // the deregistration of active_agent_
};

/// Operations of HCA_OPERATIONS.
NTSTATUS register_mad_agent(HCA_MAD_AGENT* agent, PIRP irp);
NTSTATUS deregister_mad_agent(HCA_MAD_AGENT* agent, PIRP irp);
NTSTATUS send_mad(HCA_MAD_AGENT* agent, const IB_MAD_SEND* send, PIRP irp);
NTSTATUS modify_mad_agent(HCA_MAD_AGENT* agent, const IB_MAD_KEYS* keys, PIRP irp);

} // namespace irpverbs::hca_software
