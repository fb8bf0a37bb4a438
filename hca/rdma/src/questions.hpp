// The questions of an agent that the kernel still waits for the answers to. It takes none whose
// transaction is still under way, and forgets none on demand; so one that is asked again is held
// until it has ended.
#pragma once

#include <dispatch/detail/spin.hpp>
#include <dispatch/ntdef.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace irpverbs::hca_rdma {

class questions {
public:
    using message = std::vector<UCHAR>; // as umad_send takes it

    /// Before it is sent. True: it is under way already.
    bool ask(std::uint32_t transaction);
    /// It was not sent.
    void withdraw(std::uint32_t transaction);
    /// It was not sent, and is held if another is under way; false: there is none.
    bool hold(std::uint32_t transaction, std::span<const UCHAR> what);

    void answered(std::uint32_t transaction);
    /// Gives back the one that was held, or nothing.
    message expired(std::uint32_t transaction);

private:
    struct question {
        unsigned under_way = 0;
        message held;
    };
    bool drop_one(std::uint32_t transaction);

    dispatch::detail::raw_spin lock_;
    std::unordered_map<std::uint32_t, question> asked_; // guarded by lock_
};

} // namespace irpverbs::hca_rdma
