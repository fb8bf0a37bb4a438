// The SA asked as a program does that knows nothing but libibumad: the kernel's RMPP, one question
// at a time.
#pragma once

#include <cstdint>
#include <vector>

namespace irpverbs::testing {

class raw_umad {
public:
    raw_umad();
    ~raw_umad();
    raw_umad(const raw_umad&) = delete;
    raw_umad& operator=(const raw_umad&) = delete;

    /// `request`: a datagram, sent again when there is no answer after so many milliseconds. The
    /// whole answer, headers once; empty: none came.
    std::vector<std::uint8_t> ask(const std::vector<std::uint8_t>& request, std::uint16_t lid,
                                  int milliseconds);

private:
    int port_;
    int agent_;
};

} // namespace irpverbs::testing
