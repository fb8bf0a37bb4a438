// The query of RtlQueryRegistryValues.
#pragma once

#include "registry.hpp"

namespace irpverbs::irp {

class registry_query {
public:
    registry_query(registry& tree, key_reference top, void* context)
        : tree_(tree), top_(std::move(top)), key_(top_), context_(context) {}

    /// Statuses: those of RtlQueryRegistryValues.
    NTSTATUS run(const RTL_QUERY_REGISTRY_TABLE* table);

private:
    using table_entry = RTL_QUERY_REGISTRY_TABLE;

    NTSTATUS query(const table_entry& entry);
    NTSTATUS query_named(const table_entry& entry);
    NTSTATUS query_all(const table_entry& entry);
    NTSTATUS pass_default(const table_entry& entry);
    NTSTATUS pass(const table_entry& entry, const registry_value& value);
    NTSTATUS call(const table_entry& entry, const std::u16string& name, ULONG type,
                  std::span<const std::byte> data);

    registry& tree_;
    const key_reference top_;
    key_reference key_; // that of the last entry with RTL_QUERY_REGISTRY_SUBKEY
    void* const context_;
};

} // namespace irpverbs::irp
