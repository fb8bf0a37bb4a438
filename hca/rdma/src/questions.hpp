// The requests of an agent for which the kernel still waits for a response. The kernel refuses a
// request whose transaction is in progress, and can't cancel one; a repeated request is held until
// the earlier one has ended. The kernel does not report the end of some requests: a time limit
// removes those.
#pragma once

#include <dispatch/detail/spin.hpp>
#include <dispatch/ke.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace irpverbs::hca_rdma {

class questions {
public:
    using message = std::vector<UCHAR>; // in the format of umad_send

    /// Notes a request before it is sent. `timeout`: the milliseconds that the kernel waits for
    /// each try. Returns 0, or ENOMEM: the request must not be sent. `again`: the transaction is in
    /// progress.
    int ask(std::uint32_t transaction, std::uint32_t timeout, bool& again);
    /// Removes a request that was not sent.
    void withdraw(std::uint32_t transaction);
    /// Holds a request that was not sent. Returns 0; EINVAL: no other request of the transaction is
    /// in progress; ENOMEM.
    int hold(std::uint32_t transaction, std::span<const UCHAR> what);

    void answered(std::uint32_t transaction);
    /// Returns the held request, or nothing.
    message expired(std::uint32_t transaction);

    /// The number of noted transactions.
    std::size_t size();

private:
    struct question {
        ULONGLONG until = 0; // interrupt time of its removal
        unsigned under_way = 0;
        message held;
    };
    bool drop_one(std::uint32_t transaction);
    bool note(std::uint32_t transaction, ULONGLONG now, ULONGLONG until);
    void forget(ULONGLONG now);

    dispatch::detail::raw_spin lock_;
    std::unordered_map<std::uint32_t, question> asked_; // guarded by lock_
    std::size_t crowd_ = 0; // size that starts a search for expired entries; guarded by lock_
};

} // namespace irpverbs::hca_rdma
