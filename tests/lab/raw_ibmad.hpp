// A path query by libibmad alone. It has its own source file, since libibmad's header and ours have
// names in common.
#pragma once

#include <array>
#include <cstdint>

struct ibmad_port;

namespace irpverbs::testing {

class raw_ibmad {
public:
    using gid = std::array<std::uint8_t, 16>;

    explicit raw_ibmad(std::uint16_t sm_lid);
    ~raw_ibmad();
    raw_ibmad(const raw_ibmad&) = delete;
    raw_ibmad& operator=(const raw_ibmad&) = delete;

    /// Waits for the response; false if there was none.
    bool ask_path(gid from, gid to);

private:
    ibmad_port* port_;
    std::uint16_t sm_lid_;
};

} // namespace irpverbs::testing
