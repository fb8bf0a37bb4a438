// The questions of an agent that the kernel still waits for the answers to. It takes none whose
// transaction is still under way, and forgets none on demand; so one that is asked again is held
// until it has ended. Of some the kernel never says that they have: those are forgotten in time.
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
    using message = std::vector<UCHAR>; // as umad_send takes it

    /// Before it is sent, with the milliseconds that the kernel is told to wait for each try. 0, or
    /// ENOMEM: then it is not to be sent. `again`: it is under way already.
    int ask(std::uint32_t transaction, std::uint32_t timeout, bool& again);
    /// It was not sent.
    void withdraw(std::uint32_t transaction);
    /// It was not sent, and is held if another is under way: 0. EINVAL: there is none; ENOMEM.
    int hold(std::uint32_t transaction, std::span<const UCHAR> what);

    void answered(std::uint32_t transaction);
    /// Gives back the one that was held, or nothing.
    message expired(std::uint32_t transaction);

    /// Those that it remembers.
    std::size_t size();

private:
    struct question {
        ULONGLONG until = 0; // interrupt time: it is forgotten
        unsigned under_way = 0;
        message held;
    };
    bool drop_one(std::uint32_t transaction);
    bool note(std::uint32_t transaction, ULONGLONG now, ULONGLONG until);
    void forget(ULONGLONG now);

    dispatch::detail::raw_spin lock_;
    std::unordered_map<std::uint32_t, question> asked_; // guarded by lock_
    std::size_t crowd_ = 0; // so many are looked through; guarded by lock_
};

} // namespace irpverbs::hca_rdma
