// Descriptions of keys and values, as the functions of registry.h return them.
#pragma once

#include "registry.hpp"

namespace irpverbs::irp {

/// A description: fixed fields, then what they refer to.
struct description {
    std::size_t fixed = 0; // bytes; 0: there is no such class
    std::vector<std::byte> bytes;

    /// Copies it to a caller's buffer. Statuses and *result: those of ZwQueryValueKey.
    NTSTATUS copy(void* to, ULONG length, ULONG* result) const;
};

description describe(const registry_key& key, KEY_INFORMATION_CLASS what);
description describe(const registry_value& value, KEY_VALUE_INFORMATION_CLASS what);

} // namespace irpverbs::irp
