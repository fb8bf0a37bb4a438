// The run-time library's calls on keys by their paths.
#include "irql_rules.hpp"
#include "registry_query.hpp"

#include <new>
#include <optional>

using namespace irpverbs::irp;

namespace {

std::u16string_view text_of(const WCHAR* text) {
    return text != nullptr ? std::u16string_view(reinterpret_cast<const char16_t*>(text))
                           : std::u16string_view();
}

// None: there is no such place.
std::optional<std::u16string_view> root_of(ULONG relative_to) {
    switch (relative_to) {
    case RTL_REGISTRY_ABSOLUTE:
        return u"";
    case RTL_REGISTRY_SERVICES:
        return registry::services;
    case RTL_REGISTRY_CONTROL:
        return registry::control;
    case RTL_REGISTRY_WINDOWS_NT:
        return registry::windows_nt;
    case RTL_REGISTRY_DEVICEMAP:
        return registry::device_map;
    case RTL_REGISTRY_USER:
        return registry::user;
    default:
        return std::nullopt;
    }
}

NTSTATUS find(ULONG relative_to, const WCHAR* path, bool create, key_reference& key) {
    if ((relative_to & RTL_REGISTRY_HANDLE) != 0) return key_of(const_cast<WCHAR*>(path), key);
    const auto root = root_of(relative_to & ~RTL_REGISTRY_OPTIONAL);
    if (!root) return STATUS_INVALID_PARAMETER;
    std::u16string whole(*root);
    const std::u16string_view below = text_of(path);
    if (!whole.empty() && !below.empty()) whole += u'\\';
    whole += below;
    bool created = false;
    return create ? registry::current().create(nullptr, whole, false, key, created)
                  : registry::current().open(nullptr, whole, key);
}

// Calls `use` with the registry and the key of the path.
template <class Use>
NTSTATUS with_path(ULONG relative_to, const WCHAR* path, bool create, Use use) try {
    key_reference key;
    const NTSTATUS status = find(relative_to, path, create, key);
    return NT_SUCCESS(status) ? use(registry::current(), key) : status;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

constexpr auto nothing_more = [](registry&, const key_reference&) { return STATUS_SUCCESS; };

} // namespace

extern "C" {

NTSTATUS RtlQueryRegistryValues(ULONG RelativeTo, PCWSTR Path, PRTL_QUERY_REGISTRY_TABLE QueryTable,
                                PVOID Context, PVOID) {
    VERIFY_IRQL(RtlQueryRegistryValues);
    return with_path(RelativeTo, Path, false, [&](registry& tree, const key_reference& key) {
        return registry_query(tree, key, Context).run(QueryTable);
    });
}

NTSTATUS RtlWriteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName, ULONG ValueType,
                               PVOID ValueData, ULONG ValueLength) {
    VERIFY_IRQL(RtlWriteRegistryValue);
    return with_path(RelativeTo, Path, true, [&](registry& tree, const key_reference& key) {
        return tree.set_value(*key, text_of(ValueName), ValueType,
                              {static_cast<const std::byte*>(ValueData), ValueLength});
    });
}

NTSTATUS RtlDeleteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName) {
    VERIFY_IRQL(RtlDeleteRegistryValue);
    return with_path(RelativeTo, Path, false, [&](registry& tree, const key_reference& key) {
        return tree.remove_value(*key, text_of(ValueName));
    });
}

NTSTATUS RtlCreateRegistryKey(ULONG RelativeTo, PWSTR Path) {
    VERIFY_IRQL(RtlCreateRegistryKey);
    return with_path(RelativeTo, Path, true, nothing_more);
}

NTSTATUS RtlCheckRegistryKey(ULONG RelativeTo, PWSTR Path) {
    VERIFY_IRQL(RtlCheckRegistryKey);
    return with_path(RelativeTo, Path, false, nothing_more);
}

} // extern "C"
