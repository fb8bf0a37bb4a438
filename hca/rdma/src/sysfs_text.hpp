// Parses values of sysfs files. A malformed value is 0.
#pragma once

#include <ci/ib_types.h>

#include <string_view>

namespace irpverbs::hca_rdma {

/// "1b3" or "0x1b3".
ULONG hexadecimal(std::string_view text);
/// "fe80:0000:0000:0000:0002:c903:0000:0001".
ib_gid_t gid(std::string_view text);
/// "16.35.2000": 16, 16 and 16 bits, below 32 further bits, as in ibv_query_device.
ULONGLONG firmware_version(std::string_view text);

struct link_rate {
    USHORT width = 0; // IB_LINK_WIDTH
    USHORT speed = 0; // IB_LINK_SPEED
};
/// "100 Gb/sec (4X EDR)".
link_rate rate(std::string_view text);

} // namespace irpverbs::hca_rdma
