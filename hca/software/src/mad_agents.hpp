// The MAD agents of an adapter: which of them a datagram belongs to, and the up-calls that bring it
// there.
#pragma once

#include "datagram.hpp"

#include <ci/driver.h>

namespace irpverbs::hca_software {

class fabric;

/// One up-call is made at a time, in a DPC, with no lock held.
class mad_agents {
public:
    explicit mad_agents(fabric& where);
    mad_agents(const mad_agents&) = delete;
    mad_agents& operator=(const mad_agents&) = delete;

    static const SIZE_T extension_size;

    /// STATUS_SHARING_VIOLATION: another receives one of its methods.
    NTSTATUS add(HCA_MAD_AGENT& agent, const port& at);
    NTSTATUS modify(HCA_MAD_AGENT& agent, const port& at, const IB_MAD_KEYS& keys);
    /// STATUS_PENDING: it is inside an up-call; `irp` completes after that.
    NTSTATUS remove(HCA_MAD_AGENT& agent, IRP* irp);

    // Under the fabric's lock:

    NTSTATUS send(const HCA_MAD_AGENT& agent, port& from, const IB_MAD_SEND& what);
    /// Of the queue pair of an agent's own that a datagram is for; null: nobody has it, or it takes
    /// no such datagrams.
    const IB_MAD_KEYS* find_keys(packet& what);
    /// Somebody takes what has come in at its port. An answer that nobody waits for is nobody's.
    bool takes(packet& what) { return find_taker(what) != nullptr; }
    /// Has it brought to who takes it. Ownership: it is the table's.
    void deliver(packet* what);

private:
    static constexpr unsigned most_a_turn = 32;

    struct report_data;

    HCA_MAD_AGENT* find_taker(packet& what);
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
    ib_qpn_t last_qp_ = 1;
    packet_line arrived_;
    bool delivering_ = false;         // the DPC is queued, or runs
    HCA_MAD_AGENT* called_ = nullptr; // inside an up-call
    IRP* remover_ = nullptr;          // of called_
};

/// Rows of HCA_OPERATIONS.
NTSTATUS register_mad_agent(HCA_MAD_AGENT* agent, PIRP irp);
NTSTATUS deregister_mad_agent(HCA_MAD_AGENT* agent, PIRP irp);
NTSTATUS send_mad(HCA_MAD_AGENT* agent, const IB_MAD_SEND* send, PIRP irp);
NTSTATUS modify_mad_agent(HCA_MAD_AGENT* agent, const IB_MAD_KEYS* keys, PIRP irp);

} // namespace irpverbs::hca_software
