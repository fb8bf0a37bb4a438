// A MAD agent: its queued datagrams, and the IRPs that wait for one.
#pragma once

#include "device.hpp"

namespace irpverbs::ci {

struct answer;
struct arrival;
struct kept_mad;

inline bool has_own_qp(const IB_MAD_AGENT_ATTR& attr) { return attr.QpKind != IB_MAD_QP_SHARED; }

/// The IRPs that wait for a datagram, or the datagrams that wait for an IRP.
struct mad_line {
    LIST_ENTRY waiting; // IRPs
    LIST_ENTRY kept;    // kept_mad
    ULONG count = 0;    // of kept datagrams
    ULONG lost = 0;     // datagrams since the last that an IRP took
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

    /// Delivers a datagram. The caller is a user.
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
    IRP* take_waiter(arrival& mad);
    bool give_to_waiter(arrival& mad);
    void keep(arrival& mad);
    NTSTATUS take_kept_or_park(IB_MAD_RECEIVE& into, IRP* irp, answer& told);

    PFN_IB_MAD_RECEIVED call_ = nullptr;
    KSPIN_LOCK own_lock_ = 0;
    mad_line line_{};
};

} // namespace irpverbs::ci
