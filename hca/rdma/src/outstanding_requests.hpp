// The requests of an agent that still wait in the kernel for a response. The kernel refuses a
// request whose transaction is in progress, and can't cancel one, so a repeated request is held
// until the earlier one has ended. For some requests the kernel reports no end: a time limit
// removes these.
#pragma once

#include <dispatch/ke.h>
#include <dispatch/support/spin.hpp>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace irpverbs::hca_rdma {

class outstanding_requests {
public:
    using message = std::vector<UCHAR>; // in the format of umad_send

    /// Notes a request before it is sent. `timeout`: the milliseconds that the kernel waits for
    /// each try. Returns 0, or ENOMEM: the request must not be sent. `again`: the transaction is in
    /// progress.
    int begin(std::uint32_t transaction, std::uint32_t timeout, bool& again);
    /// Removes a request that was not sent.
    void remove(std::uint32_t transaction);
    /// Holds a request that was not sent. Returns 0; EINVAL: no other request of the transaction is
    /// in progress; ENOMEM.
    int hold(std::uint32_t transaction, std::span<const UCHAR> what);

    void on_response(std::uint32_t transaction);
    /// Returns the held request, or nothing.
    message on_timeout(std::uint32_t transaction);

    /// The number of noted transactions.
    std::size_t size();

private:
    struct entry {
        ULONGLONG until = 0; // interrupt time of its removal
        unsigned in_flight = 0;
        message held;
    };
    bool drop_one(std::uint32_t transaction);
    entry& find_or_insert(std::uint32_t transaction);
    bool insert(std::uint32_t transaction, ULONGLONG now, ULONGLONG until);
    void remove_expired(ULONGLONG now);

    dispatch::detail::raw_spin_lock lock_;
    std::unordered_map<std::uint32_t, entry> requests_;         // guarded by lock_
    std::unordered_map<std::uint32_t, entry>::node_type spare_; // of a request that has ended
    std::size_t purge_threshold_ =
        0; // size that starts a search for expired entries; guarded by lock_
};

} // namespace irpverbs::hca_rdma
