// A MAD agent: its queued datagrams, and the IRPs that wait for one.
#pragma once

#include "child_object.hpp"

#include <boost/intrusive/list.hpp>

namespace irpverbs::ci {

struct get_result;
struct incoming_mad;

inline bool has_own_qp(const IB_MAD_AGENT_ATTR& attr) { return attr.QpKind != IB_MAD_QP_SHARED; }

/// A datagram that arrived when no IRP waited, followed by its bytes.
struct queued_mad : boost::intrusive::list_base_hook<> {
    explicit queued_mad(const IB_MAD_RECEIVED& with) : received(with) {}

    /// Copies the datagram. Null without memory.
    static queued_mad* make(const IB_MAD_RECEIVED& received);
    static void free(queued_mad* mad);

    IB_MAD_RECEIVED received;
};

/// The IRPs that wait for a datagram, or the datagrams that wait for an IRP.
struct receive_queue {
    LIST_ENTRY waiting; // IRPs
    boost::intrusive::list<queued_mad, boost::intrusive::constant_time_size<false>> queued;
    ULONG count = 0; // of queued datagrams
    ULONG lost = 0;  // datagrams since the last that an IRP took
};

struct mad_agent_object final : child_object<mad_agent_object, HCA_MAD_AGENT, ca_object> {
    static constexpr const char* name = "mad agent";
    static constexpr unsigned channel_count = 0;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.MadAgentExtensionSize; }

    explicit mad_agent_object(event_channel* channels);
    void set_up(const create_parameters& wanted, event_channel*);
    void tear_down();

    /// Delivers a datagram. The caller holds a reference.
    void receive(const IB_MAD_RECEIVED& received);
    /// Counts datagrams that were lost. The caller holds a reference.
    void add_lost(ULONG count);
    /// Completes the IRP with the oldest queued datagram, or pends it until one arrives. Without a
    /// queued datagram, a failure in `otherwise` completes it with that status.
    NTSTATUS get(IB_MAD_RECEIVE& into, IRP* irp, NTSTATUS otherwise);

private:
    void cancel_waiting() override;

    ULONG limit() const;
    IRP* remove_waiter(incoming_mad& mad);
    bool deliver_to_waiter(incoming_mad& mad);
    void enqueue(incoming_mad& mad);
    NTSTATUS remove_queued_or_pend(IB_MAD_RECEIVE& into, IRP* irp, get_result& result);

    PFN_IB_MAD_RECEIVED call_ = nullptr;
    receive_queue queue_{};
};

} // namespace irpverbs::ci
