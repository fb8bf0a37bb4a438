// Subscriptions to events: the SA's side of InformInfo. Statuses and matching are OpenSM's.
#pragma once

#include <basics.hpp>

#include <cstdint>
#include <list>
#include <span>
#include <vector>

namespace irpverbs::subnet_manager {

/// The destination of Reports, from the request's addresses.
struct subscriber {
    ib_gid_t gid{};
    ib_lid_t lid = 0;
    ib_qpn_t qpn = 0;
    ib_pkey_t pkey = 0;
    std::uint8_t sl = 0;

    friend bool operator==(const subscriber& a, const subscriber& b) {
        return a.lid == b.lid && a.qpn == b.qpn && a.pkey == b.pkey && a.sl == b.sl;
    }
};

struct subscription {
    subscriber from;
    ib_mad_informinfo_t wants{}; // QPN is the subscriber's
};

/// Whether a subscription covers an event. The caller checks the access (shared P_Keys).
bool wants_event(const ib_mad_informinfo_t& info, const ib_mad_notice_t& notice);

class subscription_table {
public:
    explicit subscription_table(std::size_t capacity = 65536) : capacity_(capacity) {}

    /// Executes a Set of InformInfo; `info` becomes the stored one. A repeated subscription has no
    /// further effect. Returns SA_STATUS_NO_ERROR; REQ_INVALID for a Subscribe above 1, for an
    /// unsubscription that matches none (its QPN counts), and for a trap 256..259 from a requester
    /// without the SM_Key; NO_RESOURCES when full.
    std::uint16_t set(const subscriber& from, ib_mad_informinfo_t& info, bool trusted);

    /// Removes the subscriptions of an unreachable port; returns their number.
    std::size_t remove(const ib_gid_t& gid);

    /// Removes the subscriptions of a subscriber; returns its GID, or zeros if there was none.
    ib_gid_t remove(const subscriber& whose);

    /// Returns the subscriptions that cover the event, in order of subscription; one Report each.
    /// Valid until the next change.
    std::vector<const subscription*> matching(const ib_mad_notice_t& notice) const;

    /// Returns the matching InformInfoRecords.
    std::vector<sa_informinfo_record_t> find(const sa_informinfo_record_t& wanted,
                                             std::uint64_t components) const;

    std::size_t size() const { return table_.size(); }

private:
    std::size_t capacity_;
    std::list<subscription> table_;
};

} // namespace irpverbs::subnet_manager
