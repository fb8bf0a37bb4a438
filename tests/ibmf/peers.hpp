// A datagram's fields as the headers of other projects decode them: only the fields that those
// know.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace irpverbs::ibmf::peers {

using fields = std::map<std::string, std::uint64_t>;

// 256 bytes.
fields umad_fields(const std::uint8_t* mad);
fields opensm_fields(const std::uint8_t* mad);
fields ibmad_fields(const std::uint8_t* mad);

} // namespace irpverbs::ibmf::peers
