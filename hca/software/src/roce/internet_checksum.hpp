// The checksum of IPv4 headers and of ICMP. Source: RFC 1071.
#pragma once

#include "../mad.hpp"

namespace irpverbs::hca_software::roce {

class internet_checksum {
public:
    /// Adds bytes; all but the last ones are an even number.
    void add(std::span<const UCHAR> bytes) {
        for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
            sum_ += load16(&bytes[i]);
        if (bytes.size() % 2 != 0) sum_ += ULONG{bytes.back()} << 8;
    }
    void add(std::uint64_t number) { sum_ += number; }

    /// The value of the field; 0 if the field is among the bytes and is right.
    USHORT value() const {
        std::uint64_t sum = sum_;
        while (sum >> 16 != 0)
            sum = (sum & 0xFFFF) + (sum >> 16);
        return static_cast<USHORT>(~sum & 0xFFFF);
    }

private:
    std::uint64_t sum_ = 0;
};

} // namespace irpverbs::hca_software::roce
