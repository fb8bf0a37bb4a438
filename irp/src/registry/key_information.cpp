#include "key_information.hpp"

#include <algorithm>
#include <cstring>

namespace irpverbs::irp {
namespace {

constexpr std::size_t data_alignment = 8;

ULONG bytes_of(std::u16string_view text) { return static_cast<ULONG>(text.size() * sizeof(WCHAR)); }

template <class Fields>
description begin(const Fields& fields, std::size_t fixed) {
    description made{fixed, std::vector<std::byte>(fixed)};
    std::memcpy(made.bytes.data(), &fields, fixed);
    return made;
}

void append(description& made, const void* data, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(data);
    made.bytes.insert(made.bytes.end(), first, first + size);
}

template <class Fields>
description with_name(const Fields& fields, std::size_t fixed, std::u16string_view name) {
    description made = begin(fields, fixed);
    append(made, name.data(), bytes_of(name));
    return made;
}

KEY_FULL_INFORMATION counts_of(const registry_key& key) {
    KEY_FULL_INFORMATION made{};
    made.LastWriteTime.QuadPart = key.written;
    made.ClassOffset = 0xFFFFFFFF; // no class
    made.SubKeys = static_cast<ULONG>(key.keys.size());
    for (const auto& each : key.keys)
        made.MaxNameLen = std::max(made.MaxNameLen, bytes_of(each.first));
    made.Values = static_cast<ULONG>(key.values.size());
    for (const registry_value& each : key.values) {
        made.MaxValueNameLen = std::max(made.MaxValueNameLen, bytes_of(each.name));
        made.MaxValueDataLen = std::max(made.MaxValueDataLen, static_cast<ULONG>(each.data.size()));
    }
    return made;
}

description full(const registry_value& value) {
    KEY_VALUE_FULL_INFORMATION fields{};
    fields.Type = value.type;
    fields.NameLength = bytes_of(value.name);
    fields.DataLength = static_cast<ULONG>(value.data.size());
    const std::size_t end = offsetof(KEY_VALUE_FULL_INFORMATION, Name) + fields.NameLength;
    fields.DataOffset =
        static_cast<ULONG>((end + data_alignment - 1) / data_alignment * data_alignment);
    description made = with_name(fields, offsetof(KEY_VALUE_FULL_INFORMATION, Name), value.name);
    if (value.data.empty()) return made;
    made.bytes.resize(fields.DataOffset);
    append(made, value.data.data(), value.data.size());
    return made;
}

} // namespace

NTSTATUS description::copy(void* to, ULONG length, ULONG* result) const {
    if (fixed == 0) return STATUS_INVALID_PARAMETER;
    *result = static_cast<ULONG>(bytes.size());
    if (length < fixed) return STATUS_BUFFER_TOO_SMALL;
    std::memcpy(to, bytes.data(), std::min<std::size_t>(length, bytes.size()));
    return length < bytes.size() ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

description describe(const registry_key& key, KEY_INFORMATION_CLASS what) {
    switch (what) {
    case KeyBasicInformation: {
        KEY_BASIC_INFORMATION fields{};
        fields.LastWriteTime.QuadPart = key.written;
        fields.NameLength = bytes_of(key.name());
        return with_name(fields, offsetof(KEY_BASIC_INFORMATION, Name), key.name());
    }
    case KeyNodeInformation: {
        KEY_NODE_INFORMATION fields{};
        fields.LastWriteTime.QuadPart = key.written;
        fields.ClassOffset = 0xFFFFFFFF; // no class
        fields.NameLength = bytes_of(key.name());
        return with_name(fields, offsetof(KEY_NODE_INFORMATION, Name), key.name());
    }
    case KeyFullInformation:
        return begin(counts_of(key), offsetof(KEY_FULL_INFORMATION, Class));
    case KeyNameInformation: {
        KEY_NAME_INFORMATION fields{};
        fields.NameLength = bytes_of(key.path);
        return with_name(fields, offsetof(KEY_NAME_INFORMATION, Name), key.path);
    }
    default:
        return {};
    }
}

description describe(const registry_value& value, KEY_VALUE_INFORMATION_CLASS what) {
    switch (what) {
    case KeyValueBasicInformation: {
        KEY_VALUE_BASIC_INFORMATION fields{};
        fields.Type = value.type;
        fields.NameLength = bytes_of(value.name);
        return with_name(fields, offsetof(KEY_VALUE_BASIC_INFORMATION, Name), value.name);
    }
    case KeyValueFullInformation:
        return full(value);
    case KeyValuePartialInformation: {
        KEY_VALUE_PARTIAL_INFORMATION fields{};
        fields.Type = value.type;
        fields.DataLength = static_cast<ULONG>(value.data.size());
        description made = begin(fields, offsetof(KEY_VALUE_PARTIAL_INFORMATION, Data));
        append(made, value.data.data(), value.data.size());
        return made;
    }
    default:
        return {};
    }
}

} // namespace irpverbs::irp
