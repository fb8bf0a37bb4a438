// The management classes of a client type: the datagrams that it receives.
#ifndef IRPVERBS_IBMF_ENGINE_CLASS_MAPPING_HPP
#define IRPVERBS_IBMF_ENGINE_CLASS_MAPPING_HPP

#include <ibmf/ibmf.h>
#include <ibmf/mad.hpp>

#include <array>
#include <span>

namespace irpverbs::ibmf {

/// Method m is bit m % 32 of bits[m / 32].
struct method_set {
    std::array<std::uint32_t, 4> bits{};

    constexpr method_set() = default;
    constexpr method_set(std::initializer_list<unsigned> methods) {
        for (const unsigned each : methods)
            bits[each / 32] |= 1u << each % 32;
    }
    constexpr bool empty() const { return *this == method_set{}; }
    constexpr bool operator==(const method_set&) const = default;
};

/// The unsolicited methods that a client receives in one management class. `shared` methods belong
/// to agent and manager; the attribute selects the receiver (receiver_of).
struct class_mapping {
    std::uint8_t mgmt_class = 0;
    method_set own;
    method_set shared;
};

struct client_mapping {
    std::array<class_mapping, 2> classes{}; // the second: directed route, or class 0 for none
    bool known = false;

    std::span<const class_mapping> used() const {
        return std::span(classes).first(!known ? 0 : classes[1].mgmt_class != 0 ? 2 : 1);
    }
    bool has(std::uint8_t mgmt_class) const {
        return classes[0].mgmt_class == mgmt_class ||
               (classes[1].mgmt_class != 0 && classes[1].mgmt_class == mgmt_class);
    }
};

/// Not known: not in ibmf_client_type_t, or UNIVERSAL_CLASS, which has no class.
client_mapping client_mapping_of(ibmf_client_type_t type);

/// The receiver of a datagram with a shared method.
ibmf_client_type_t receiver_of(const mad_view& received);

/// 2 for the SA, 1 for other classes.
std::uint8_t version_of(std::uint8_t mgmt_class);

constexpr bool is_smp(std::uint8_t mgmt_class) {
    return mgmt_class == MAD_MGMT_CLASS_SUBN_LID_ROUTED ||
           mgmt_class == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE;
}

/// True for methods that are routed by the TransactionID of their request.
constexpr bool is_response_method(std::uint8_t method) {
    return (method & MAD_RESPONSE_BIT) != 0 || method == MAD_METHOD_TRAP_REPRESS;
}

} // namespace irpverbs::ibmf

#endif
