// Packet sequence numbers.
#pragma once

#include <dispatch/ntdef.h>

namespace irpverbs::hca_software::transport {

/// A number modulo 2^24. Source: IBA 9.2 (PSN), 9.7.1.
class psn {
public:
    constexpr psn() = default;
    constexpr explicit psn(ULONG number) : number_(number & mask) {}

    constexpr ULONG value() const { return number_; }
    constexpr psn operator+(ULONG count) const { return psn(number_ + count); }
    constexpr psn operator-(ULONG count) const { return psn(number_ - count); }
    constexpr psn& operator++() { return *this = *this + 1; }
    constexpr bool operator==(const psn&) const = default;

    /// The number of packets from `first` up to this one, which is not earlier.
    constexpr ULONG since(psn first) const { return (number_ - first.number_) & mask; }

    /// True if this number is one of the 2^23 in front of `other`. Source: IBA 9.7.1.1 (the
    /// region of duplicates has half of all numbers).
    constexpr bool is_before(psn other) const {
        const ULONG ahead = other.since(*this);
        return ahead != 0 && ahead <= half;
    }

    static constexpr ULONG mask = 0xFFFFFF;
    static constexpr ULONG half = 1u << 23;

private:
    ULONG number_ = 0;
};

} // namespace irpverbs::hca_software::transport
