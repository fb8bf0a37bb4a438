// The calls on keys by their handles.
#include "irql_rules.hpp"
#include "key_information.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/support/object.hpp>

#include <iterator>
#include <new>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

struct key_object {
    OBJECT_HEADER header;
    key_reference key;
};

bool destroy_key(OBJECT_HEADER& header) {
    delete reinterpret_cast<key_object*>(&header);
    return true;
}

constexpr OBJECT_TYPE key_type{"key", key_object_type, destroy_key, nullptr};
POBJECT_TYPE key_type_pointer = const_cast<POBJECT_TYPE>(&key_type);

// Calls `use` with the registry and the key. Its status; those of a handle.
template <class Use>
NTSTATUS with_registry(HANDLE handle, Use use) try {
    key_reference key;
    const NTSTATUS status = key_of(handle, key);
    return NT_SUCCESS(status) ? use(registry::current(), *key) : status;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

// Calls `use` with the key alone, under the registry's lock.
template <class Use>
NTSTATUS with_key(HANDLE handle, Use use) {
    return with_registry(handle,
                         [&](registry& tree, registry_key& key) { return tree.with(key, use); });
}

// Stores a handle of the key that `find` finds, by the key of RootDirectory and the name.
template <class Find>
NTSTATUS open_key(HANDLE& handle, const OBJECT_ATTRIBUTES* attributes, Find find) try {
    if (attributes == nullptr || attributes->ObjectName == nullptr) return STATUS_INVALID_PARAMETER;
    if (fault_point("irp.registry_key")) return STATUS_INSUFFICIENT_RESOURCES;
    key_reference base;
    key_reference found;
    NTSTATUS status = STATUS_SUCCESS;
    if (attributes->RootDirectory != nullptr) status = key_of(attributes->RootDirectory, base);
    if (NT_SUCCESS(status))
        status = find(registry::current(), base, view_of(*attributes->ObjectName), found);
    if (!NT_SUCCESS(status)) return status;
    handle = new_key_handle(std::move(found));
    return handle != nullptr ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // namespace

namespace irpverbs::irp {

HANDLE new_key_handle(key_reference key) {
    auto* const made = new (std::nothrow) key_object{{}, std::move(key)};
    if (made == nullptr) return nullptr;
    initialize_object(made->header, key_type);
    return new_handle(object_reference(&made->header, false));
}

NTSTATUS key_of(HANDLE handle, key_reference& key) {
    void* found = nullptr;
    const NTSTATUS status =
        ObReferenceObjectByHandle(handle, 0, key_type_pointer, KernelMode, &found, nullptr);
    if (!NT_SUCCESS(status)) return status;
    const object_reference held(static_cast<OBJECT_HEADER*>(found), false);
    key = static_cast<key_object*>(found)->key;
    return STATUS_SUCCESS;
}

} // namespace irpverbs::irp

extern "C" {

POBJECT_TYPE* CmKeyObjectType = &key_type_pointer;

NTSTATUS ZwCreateKey(PHANDLE KeyHandle, ACCESS_MASK, POBJECT_ATTRIBUTES ObjectAttributes, ULONG,
                     PUNICODE_STRING, ULONG CreateOptions, PULONG Disposition) {
    VERIFY_IRQL(ZwCreateKey);
    if ((CreateOptions & REG_OPTION_CREATE_LINK) != 0) return STATUS_NOT_SUPPORTED;
    return open_key(*KeyHandle, ObjectAttributes,
                    [&](registry& tree, const key_reference& base, std::u16string_view path,
                        key_reference& found) {
                        bool created = false;
                        const NTSTATUS status = tree.create(
                            base, path, (CreateOptions & REG_OPTION_VOLATILE) != 0, found, created);
                        if (NT_SUCCESS(status) && Disposition != nullptr)
                            *Disposition = created ? REG_CREATED_NEW_KEY : REG_OPENED_EXISTING_KEY;
                        return status;
                    });
}

NTSTATUS ZwOpenKey(PHANDLE KeyHandle, ACCESS_MASK, POBJECT_ATTRIBUTES ObjectAttributes) {
    VERIFY_IRQL(ZwOpenKey);
    return open_key(*KeyHandle, ObjectAttributes,
                    [](registry& tree, const key_reference& base, std::u16string_view path,
                       key_reference& found) { return tree.open(base, path, found); });
}

NTSTATUS ZwOpenKeyEx(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
                     POBJECT_ATTRIBUTES ObjectAttributes, ULONG) {
    return ZwOpenKey(KeyHandle, DesiredAccess, ObjectAttributes);
}

NTSTATUS ZwDeleteKey(HANDLE KeyHandle) {
    VERIFY_IRQL(ZwDeleteKey);
    return with_registry(KeyHandle,
                         [](registry& tree, registry_key& key) { return tree.remove(key); });
}

NTSTATUS ZwSetValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName, ULONG, ULONG Type, PVOID Data,
                       ULONG DataSize) {
    VERIFY_IRQL(ZwSetValueKey);
    if (fault_point("irp.registry_value")) return STATUS_INSUFFICIENT_RESOURCES;
    return with_registry(KeyHandle, [&](registry& tree, registry_key& key) {
        return tree.set_value(key, view_of(*ValueName), Type,
                              {static_cast<const std::byte*>(Data), DataSize});
    });
}

NTSTATUS ZwDeleteValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName) {
    VERIFY_IRQL(ZwDeleteValueKey);
    return with_registry(KeyHandle, [&](registry& tree, registry_key& key) {
        return tree.remove_value(key, view_of(*ValueName));
    });
}

NTSTATUS ZwFlushKey(HANDLE KeyHandle) {
    VERIFY_IRQL(ZwFlushKey);
    return with_key(KeyHandle, [](registry_key&) { return STATUS_SUCCESS; });
}

NTSTATUS ZwQueryValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName,
                         KEY_VALUE_INFORMATION_CLASS InformationClass, PVOID Information,
                         ULONG Length, PULONG ResultLength) {
    VERIFY_IRQL(ZwQueryValueKey);
    return with_registry(KeyHandle, [&](registry& tree, registry_key& key) {
        registry_value found;
        const NTSTATUS status = tree.value(key, view_of(*ValueName), found);
        return NT_SUCCESS(status)
                   ? describe(found, InformationClass).copy(Information, Length, ResultLength)
                   : status;
    });
}

NTSTATUS ZwEnumerateValueKey(HANDLE KeyHandle, ULONG Index,
                             KEY_VALUE_INFORMATION_CLASS InformationClass, PVOID Information,
                             ULONG Length, PULONG ResultLength) {
    VERIFY_IRQL(ZwEnumerateValueKey);
    return with_registry(KeyHandle, [&](registry& tree, registry_key& key) {
        registry_value found;
        const NTSTATUS status = tree.value(key, std::size_t{Index}, found);
        return NT_SUCCESS(status)
                   ? describe(found, InformationClass).copy(Information, Length, ResultLength)
                   : status;
    });
}

NTSTATUS ZwQueryKey(HANDLE KeyHandle, KEY_INFORMATION_CLASS InformationClass, PVOID Information,
                    ULONG Length, PULONG ResultLength) {
    VERIFY_IRQL(ZwQueryKey);
    return with_key(KeyHandle, [&](registry_key& key) {
        return describe(key, InformationClass).copy(Information, Length, ResultLength);
    });
}

NTSTATUS ZwEnumerateKey(HANDLE KeyHandle, ULONG Index, KEY_INFORMATION_CLASS InformationClass,
                        PVOID Information, ULONG Length, PULONG ResultLength) {
    VERIFY_IRQL(ZwEnumerateKey);
    return with_key(KeyHandle, [&](registry_key& key) -> NTSTATUS {
        if (Index >= key.keys.size()) return STATUS_NO_MORE_ENTRIES;
        const registry_key& below = *std::next(key.keys.begin(), Index)->second;
        return describe(below, InformationClass).copy(Information, Length, ResultLength);
    });
}

} // extern "C"
