#include "registry_query.hpp"

#include <dispatch/pool.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace irpverbs::irp {
namespace {

constexpr ULONG pool_tag = 0x74735152; // "RQst"
constexpr std::size_t terminator = sizeof(WCHAR);

bool has(const RTL_QUERY_REGISTRY_TABLE& entry, ULONG flag) { return (entry.Flags & flag) != 0; }

bool is_last(const RTL_QUERY_REGISTRY_TABLE& entry) {
    return entry.QueryRoutine == nullptr &&
           !has(entry, RTL_QUERY_REGISTRY_SUBKEY | RTL_QUERY_REGISTRY_DIRECT);
}

bool is_valid(const RTL_QUERY_REGISTRY_TABLE& entry) {
    if (has(entry, RTL_QUERY_REGISTRY_SUBKEY) && entry.Name == nullptr) return false;
    return !has(entry, RTL_QUERY_REGISTRY_DIRECT) ||
           (entry.Name != nullptr && entry.QueryRoutine == nullptr &&
            !has(entry, RTL_QUERY_REGISTRY_SUBKEY));
}

bool is_text(ULONG type) { return type == REG_SZ || type == REG_EXPAND_SZ || type == REG_MULTI_SZ; }

std::u16string_view name_of(const RTL_QUERY_REGISTRY_TABLE& entry) {
    return reinterpret_cast<const char16_t*>(entry.Name);
}

ULONG default_type(const RTL_QUERY_REGISTRY_TABLE& entry) {
    return has(entry, RTL_QUERY_REGISTRY_TYPECHECK)
               ? entry.DefaultType & ((1u << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT) - 1)
               : entry.DefaultType;
}

std::optional<ULONG> demanded_type(const RTL_QUERY_REGISTRY_TABLE& entry) {
    if (!has(entry, RTL_QUERY_REGISTRY_TYPECHECK)) return std::nullopt;
    const ULONG type = entry.DefaultType >> RTL_QUERY_REGISTRY_TYPECHECK_SHIFT;
    return type != REG_NONE ? std::optional(type) : std::nullopt;
}

// The length of a default, which need not be given for a text.
std::size_t default_length(const RTL_QUERY_REGISTRY_TABLE& entry) {
    if (entry.DefaultLength != 0 || !is_text(default_type(entry)) || entry.DefaultData == nullptr)
        return entry.DefaultLength;
    std::u16string_view text(static_cast<const char16_t*>(entry.DefaultData));
    if (default_type(entry) != REG_MULTI_SZ) return (text.size() + 1) * sizeof(WCHAR);
    const char16_t* end = text.data();
    while (*end != 0)
        end += std::u16string_view(end).size() + 1;
    return static_cast<std::size_t>(end + 1 - text.data()) * sizeof(WCHAR);
}

std::u16string text_of(std::span<const std::byte> data) {
    std::u16string text(data.size() / sizeof(WCHAR), u'\0');
    std::memcpy(text.data(), data.data(), text.size() * sizeof(WCHAR));
    return text;
}

NTSTATUS store_text(UNICODE_STRING& to, std::u16string text, bool is_list) {
    while (!is_list && !text.empty() && text.back() == u'\0')
        text.pop_back();
    const std::size_t bytes = text.size() * sizeof(WCHAR);
    if (bytes + terminator > 0xFFFF) return STATUS_BUFFER_TOO_SMALL;
    if (to.Buffer == nullptr) {
        to.Buffer =
            static_cast<PWSTR>(ExAllocatePoolWithTag(PagedPool, bytes + terminator, pool_tag));
        if (to.Buffer == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
        to.MaximumLength = static_cast<USHORT>(bytes + terminator);
    }
    if (to.MaximumLength < bytes) return STATUS_BUFFER_TOO_SMALL;
    std::memcpy(to.Buffer, text.data(), bytes);
    to.Length = static_cast<USHORT>(bytes);
    if (to.MaximumLength >= bytes + terminator) to.Buffer[text.size()] = 0;
    return STATUS_SUCCESS;
}

// Data of more than four bytes: the place begins with the size of the space.
NTSTATUS store_long(void* to, ULONG type, std::span<const std::byte> data) {
    LONG size = 0;
    std::memcpy(&size, to, sizeof size);
    const auto length = static_cast<ULONG>(data.size());
    const ULONG header[] = {length, type};
    const std::size_t before = size > 0 ? sizeof header : 0;
    const std::size_t space = static_cast<std::size_t>(size > 0 ? size : -std::int64_t{size});
    if (space < before + length) return STATUS_BUFFER_TOO_SMALL;
    std::memcpy(to, header, before);
    std::memcpy(static_cast<std::byte*>(to) + before, data.data(), length);
    return STATUS_SUCCESS;
}

NTSTATUS store(const RTL_QUERY_REGISTRY_TABLE& entry, ULONG type, std::span<const std::byte> data) {
    if (is_text(type))
        return store_text(*static_cast<UNICODE_STRING*>(entry.EntryContext), text_of(data),
                          type == REG_MULTI_SZ);
    if (data.size() > sizeof(ULONG)) return store_long(entry.EntryContext, type, data);
    std::memcpy(entry.EntryContext, data.data(), data.size());
    return STATUS_SUCCESS;
}

} // namespace

NTSTATUS registry_query::run(const RTL_QUERY_REGISTRY_TABLE* table) {
    NTSTATUS status = STATUS_SUCCESS;
    for (const table_entry* each = table; NT_SUCCESS(status) && !is_last(*each); ++each)
        status = is_valid(*each) ? query(*each) : STATUS_INVALID_PARAMETER;
    return status;
}

NTSTATUS registry_query::query(const table_entry& entry) {
    if (has(entry, RTL_QUERY_REGISTRY_SUBKEY | RTL_QUERY_REGISTRY_TOPKEY)) key_ = top_;
    if (has(entry, RTL_QUERY_REGISTRY_SUBKEY)) {
        const NTSTATUS status = tree_.open(top_, name_of(entry), key_);
        const bool with_values = NT_SUCCESS(status) && entry.QueryRoutine != nullptr;
        return with_values ? query_all(entry) : status;
    }
    if (entry.Name != nullptr) return query_named(entry);
    if (has(entry, RTL_QUERY_REGISTRY_NOVALUE))
        return entry.QueryRoutine(nullptr, REG_NONE, nullptr, 0, context_, entry.EntryContext);
    return query_all(entry);
}

NTSTATUS registry_query::query_named(const table_entry& entry) {
    registry_value found;
    NTSTATUS status = tree_.value(*key_, name_of(entry), found);
    if (status == STATUS_OBJECT_NAME_NOT_FOUND) return pass_default(entry);
    if (NT_SUCCESS(status)) status = pass(entry, found);
    if (NT_SUCCESS(status) && has(entry, RTL_QUERY_REGISTRY_DELETE))
        tree_.remove_value(*key_, name_of(entry));
    return status;
}

// Values that the routine deletes do not make the query pass over others.
NTSTATUS registry_query::query_all(const table_entry& entry) {
    registry_value found;
    std::size_t number = 0;
    NTSTATUS status = tree_.value(*key_, number, found);
    if (status == STATUS_NO_MORE_ENTRIES)
        return has(entry, RTL_QUERY_REGISTRY_REQUIRED) ? STATUS_OBJECT_NAME_NOT_FOUND
                                                       : STATUS_SUCCESS;
    for (; NT_SUCCESS(status); status = tree_.value(*key_, number, found)) {
        status = pass(entry, found);
        if (!NT_SUCCESS(status)) return status;
        if (has(entry, RTL_QUERY_REGISTRY_DELETE))
            tree_.remove_value(*key_, found.name);
        else
            ++number;
    }
    return status == STATUS_NO_MORE_ENTRIES ? STATUS_SUCCESS : status;
}

NTSTATUS registry_query::pass_default(const table_entry& entry) {
    if (has(entry, RTL_QUERY_REGISTRY_REQUIRED)) return STATUS_OBJECT_NAME_NOT_FOUND;
    if (default_type(entry) == REG_NONE) return STATUS_SUCCESS;
    registry_value value{std::u16string(name_of(entry)), default_type(entry), {}};
    const auto* const first = static_cast<const std::byte*>(entry.DefaultData);
    value.data.assign(first, first + default_length(entry));
    return pass(entry, value);
}

NTSTATUS registry_query::pass(const table_entry& entry, const registry_value& value) {
    const std::optional<ULONG> demanded = demanded_type(entry);
    if (demanded && *demanded != value.type) return STATUS_OBJECT_TYPE_MISMATCH;
    if (has(entry, RTL_QUERY_REGISTRY_DIRECT)) return store(entry, value.type, value.data);
    if (value.type != REG_MULTI_SZ || has(entry, RTL_QUERY_REGISTRY_NOEXPAND))
        return call(entry, value.name, value.type, value.data);
    const std::u16string texts = text_of(value.data);
    NTSTATUS status = STATUS_SUCCESS;
    for (std::size_t at = 0; NT_SUCCESS(status) && at < texts.size() && texts[at] != u'\0';) {
        const std::size_t end = std::min(texts.find(u'\0', at), texts.size());
        status =
            call(entry, value.name, REG_SZ, std::as_bytes(std::span(texts).subspan(at, end - at)));
        at = end + 1;
    }
    return status;
}

// The routine receives copies, a text with a terminator.
NTSTATUS registry_query::call(const table_entry& entry, const std::u16string& name, ULONG type,
                              std::span<const std::byte> data) {
    std::u16string own_name = name;
    std::vector<std::byte> copy(data.begin(), data.end());
    copy.resize(copy.size() + 2 * terminator);
    const bool terminated =
        !is_text(type) || (data.size() >= terminator && data.back() == std::byte{0} &&
                           data[data.size() - terminator] == std::byte{0});
    const std::size_t length = data.size() + (terminated ? 0 : terminator);
    return entry.QueryRoutine(reinterpret_cast<PWSTR>(own_name.data()), type, copy.data(),
                              static_cast<ULONG>(length), context_, entry.EntryContext);
}

} // namespace irpverbs::irp
