// A MAD agent: its queued datagrams, and the IRPs that wait for one.
#pragma once

#include "hca_device.hpp"

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

struct mad_agent_object final : object {
    using shared_type = HCA_MAD_AGENT;
    static mad_agent_object* make(ca_object& ca, const create_parameters& wanted);
    static void destroy(mad_agent_object* agent);
    static mad_agent_object& of(void* shared) {
        return static_cast<mad_agent_object&>(
            object_in(static_cast<HCA_MAD_AGENT*>(shared)->Reserved));
    }
    static ca_object& parent_of(hca_device&, void* ca) { return ca_object::of(ca); }
    ca_object& parent() const { return ca_object::of(shared.Ca); }
    void* handle() { return &shared.Agent; }

    /// Delivers a datagram. The caller holds a reference.
    void receive(const IB_MAD_RECEIVED& received);
    /// Completes the IRP with the oldest queued datagram, or pends it until one arrives. Without a
    /// queued datagram, a failure in `otherwise` completes it with that status.
    NTSTATUS get(IB_MAD_RECEIVE& into, IRP* irp, NTSTATUS otherwise);

    HCA_MAD_AGENT shared{};

private:
    mad_agent_object();
    void call_up(unsigned, IB_ASYNC_EVENT) override {}
    void cancel_waiting() override;

    ULONG limit() const;
    IRP* remove_waiter(incoming_mad& mad);
    bool deliver_to_waiter(incoming_mad& mad);
    void enqueue(incoming_mad& mad);
    NTSTATUS remove_queued_or_pend(IB_MAD_RECEIVE& into, IRP* irp, get_result& result);

    PFN_IB_MAD_RECEIVED call_ = nullptr;
    KSPIN_LOCK own_lock_ = 0;
    receive_queue queue_{};
};

} // namespace irpverbs::ci
