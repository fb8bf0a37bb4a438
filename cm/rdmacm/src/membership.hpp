// Multicast groups of an id.
#pragma once

#include "cm_id.hpp"

namespace irpverbs::rdmacm {

/// The group that an address names in the partition. Source: RFC 4391, with the signature of
/// rdma_cm in place of IPoIB's for RDMA_PS_UDP. The address 0 lets the SA choose.
ib_gid_t group_of(const ip_endpoint& address, ib_pkey_t p_key, rdma_port_space ps);

/// A group that an id has joined, or is joining. It lives as long as the id.
struct membership {
    membership(cm_id& its_owner, const ip_endpoint& group_address, void* its_context)
        : owner(its_owner), address(group_address), context(its_context),
          access_(its_owner.operations, this, ended) {}
    membership(const membership&) = delete;
    membership& operator=(const membership&) = delete;

    /// Requests the membership of the SA: SA_MC_JOIN_*. Returns an errno value.
    int join(std::uint8_t join_state);
    /// Reports the membership, since Ethernet has no SA: the attachment of the queue pair joins.
    void join_on_ethernet(std::uint8_t join_state);
    /// Attaches the id's queue pair, when the program takes the event.
    int attach();
    /// Leaves the group, unless other ids of the process are members by the same port.
    void leave();
    /// Ends a join that is in progress.
    void cancel() {
        if (!is_member_) access_.cancel();
    }

    cm_id& owner;
    const ip_endpoint address;
    void* const context; // the program's
    bool has_left = false;

private:
    static void ended(void* self, NTSTATUS status, ULONG_PTR information);
    void begin(const ib_gid_t& group);
    void report();
    void set_event(rdma_cm_event_type type, int status);
    void set_joined();
    std::uint8_t own_gid_index() const;
    void request(ibmf_saa_access_type_t type, std::uint64_t components);

    operation access_;
    saa::detail::access_request result_;
    sa_mcmember_record_t record_{};
    ib_gid_t counted_{}; // as requested
    event_ptr event_;
    bool is_member_ = false;
    bool is_attached_ = false;
};

} // namespace irpverbs::rdmacm
