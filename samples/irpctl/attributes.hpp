// Names of management: classes, methods, attributes and their fields.
#pragma once

#include <saa/records.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace irpctl {

struct attribute {
    std::string_view name;
    std::uint16_t id;
    const irpverbs::saa::record_type* layout; // null: opaque
};

/// Finds an entry by name, without regard to case, or by number.
std::optional<std::uint8_t> class_from(std::string_view text);
std::optional<std::uint8_t> method_from(std::string_view text);
std::optional<attribute> attribute_from(std::uint8_t mgmt_class, std::string_view text);

/// Returns the name, or the number where there is no name.
std::string class_text(std::uint8_t mgmt_class);
std::string method_text(std::uint8_t method);
attribute attribute_of(std::uint8_t mgmt_class, std::uint16_t id);

/// Returns the meaning of a datagram's status.
std::string status_text(std::uint8_t mgmt_class, std::uint16_t status);

/// The counters of performance management. Source: IBA 16.1.3.5, 16.1.4.11.
extern const irpverbs::saa::record_type port_counters;
extern const irpverbs::saa::record_type port_counters_extended;

} // namespace irpctl
