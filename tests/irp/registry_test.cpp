// The registry: keys and values by handles, and by the run-time library.
#include "file_driver.hpp"

#include <support/both_machines.hpp>

#include <irp/registry.h>
#include <irp/testing/driver.hpp>

#include <dispatch/pool.h>
#include <dispatch/sim_machine.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

const std::u16string service = u"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\Sample";

NTSTATUS open_key(HANDLE& key, const std::u16string& path, HANDLE root = nullptr) {
    unicode name(path);
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, name.get(), OBJ_CASE_INSENSITIVE, root, nullptr);
    return ZwOpenKey(&key, KEY_READ, &attributes);
}

NTSTATUS create_key(HANDLE& key, const std::u16string& path, HANDLE root = nullptr,
                    ULONG options = 0, ULONG* disposition = nullptr) {
    unicode name(path);
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, name.get(), OBJ_CASE_INSENSITIVE, root, nullptr);
    return ZwCreateKey(&key, KEY_ALL_ACCESS, &attributes, 0, nullptr, options, disposition);
}

/// A key that the test creates, and closes at its end.
class created_key {
public:
    explicit created_key(const std::u16string& path, HANDLE root = nullptr) {
        EXPECT_EQ(create_key(handle_, path, root), STATUS_SUCCESS);
    }
    ~created_key() { ZwClose(handle_); }
    created_key(const created_key&) = delete;
    created_key& operator=(const created_key&) = delete;

    HANDLE get() const { return handle_; }
    NTSTATUS set(const std::u16string& name, ULONG type, const void* data, ULONG size) const {
        unicode text(name);
        return ZwSetValueKey(handle_, text.get(), 0, type, const_cast<void*>(data), size);
    }
    void set(const std::u16string& name, ULONG number) const {
        EXPECT_EQ(set(name, REG_DWORD, &number, sizeof number), STATUS_SUCCESS);
    }
    void set(const std::u16string& name, ULONG type, const std::u16string& text) const {
        EXPECT_EQ(set(name, type, text.data(), static_cast<ULONG>(text.size() * 2)),
                  STATUS_SUCCESS);
    }
    NTSTATUS query(const std::u16string& name, KEY_VALUE_INFORMATION_CLASS what, void* to,
                   ULONG length, ULONG& needed) const {
        unicode text(name);
        return ZwQueryValueKey(handle_, text.get(), what, to, length, &needed);
    }

private:
    HANDLE handle_ = nullptr;
};

using namespace std::string_literals;

class Registry : public BothMachines {
protected:
    created_key key{service};
};

TEST_P(Registry, Key_IsCreatedOnceAndOpenedInAnyCase) {
    HANDLE opened = nullptr;
    ULONG disposition = 0;
    EXPECT_EQ(create_key(opened, u"Parameters", key.get(), 0, &disposition), STATUS_SUCCESS);
    EXPECT_EQ(disposition, REG_CREATED_NEW_KEY);
    ZwClose(opened);
    EXPECT_EQ(create_key(opened, u"PARAMETERS", key.get(), 0, &disposition), STATUS_SUCCESS);
    EXPECT_EQ(disposition, REG_OPENED_EXISTING_KEY);
    ZwClose(opened);
    EXPECT_EQ(open_key(opened, service + u"\\parameters"), STATUS_SUCCESS);
    ZwClose(opened);
}

TEST_P(Registry, PathThatNamesNothing_IsRefused) {
    HANDLE opened = nullptr;
    EXPECT_EQ(open_key(opened, service + u"\\Nothing"), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(create_key(opened, service + u"\\Nothing\\Below"), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(open_key(opened, u"\\Device\\Test"), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(open_key(opened, u"Services"), STATUS_OBJECT_PATH_SYNTAX_BAD);
    EXPECT_EQ(open_key(opened, u"\\Parameters", key.get()), STATUS_OBJECT_PATH_SYNTAX_BAD);
    EXPECT_EQ(open_key(opened, u"\\Registry\\\\Machine"), STATUS_OBJECT_NAME_INVALID);
    EXPECT_EQ(ZwOpenKey(&opened, KEY_READ, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(create_key(opened, u"Link", key.get(), REG_OPTION_CREATE_LINK), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(opened, nullptr);
}

TEST_P(Registry, KeyBelowVolatileOne_MustBeVolatile) {
    HANDLE outer = nullptr;
    HANDLE inner = nullptr;
    ASSERT_EQ(create_key(outer, u"Volatile", key.get(), REG_OPTION_VOLATILE), STATUS_SUCCESS);
    EXPECT_EQ(create_key(inner, u"Lasting", outer), STATUS_CHILD_MUST_BE_VOLATILE);
    EXPECT_EQ(create_key(inner, u"Volatile", outer, REG_OPTION_VOLATILE), STATUS_SUCCESS);
    ZwClose(inner);
    ZwClose(outer);
}

TEST_P(Registry, HandleOfSomethingElse_IsRefused) {
    HANDLE event = nullptr;
    ASSERT_EQ(ZwCreateEvent(&event, 0, nullptr, NotificationEvent, FALSE), STATUS_SUCCESS);
    EXPECT_EQ(ZwFlushKey(event), STATUS_OBJECT_TYPE_MISMATCH);
    ZwClose(event);
    EXPECT_EQ(ZwFlushKey(event), STATUS_INVALID_HANDLE);
    EXPECT_EQ(ZwFlushKey(key.get()), STATUS_SUCCESS);
    void* object = nullptr;
    ASSERT_EQ(ObReferenceObjectByHandle(key.get(), KEY_READ, *CmKeyObjectType, KernelMode, &object,
                                        nullptr),
              STATUS_SUCCESS);
    ObDereferenceObject(object);
}

TEST_P(Registry, Value_IsReadInEachClass) {
    key.set(u"Depth", 7);
    ULONG needed = 0;
    alignas(8) std::byte buffer[64];
    ASSERT_EQ(key.query(u"DEPTH", KeyValuePartialInformation, buffer, sizeof buffer, needed),
              STATUS_SUCCESS);
    const auto& partial = *reinterpret_cast<KEY_VALUE_PARTIAL_INFORMATION*>(buffer);
    EXPECT_EQ(needed, offsetof(KEY_VALUE_PARTIAL_INFORMATION, Data) + 4);
    EXPECT_EQ(partial.Type, ULONG{REG_DWORD});
    EXPECT_EQ(partial.DataLength, 4u);
    EXPECT_EQ(partial.Data[0], 7);
    ASSERT_EQ(key.query(u"Depth", KeyValueFullInformation, buffer, sizeof buffer, needed),
              STATUS_SUCCESS);
    const auto& full = *reinterpret_cast<KEY_VALUE_FULL_INFORMATION*>(buffer);
    EXPECT_EQ(full.NameLength, 10u);
    EXPECT_EQ(full.Name[4], u'h');
    EXPECT_EQ(full.DataOffset + full.DataLength, needed);
    EXPECT_EQ(*reinterpret_cast<ULONG*>(buffer + full.DataOffset), 7u);
    ASSERT_EQ(key.query(u"Depth", KeyValueBasicInformation, buffer, sizeof buffer, needed),
              STATUS_SUCCESS);
    EXPECT_EQ(needed, offsetof(KEY_VALUE_BASIC_INFORMATION, Name) + 10);
    EXPECT_EQ(key.query(u"Depth", MaxKeyValueInfoClass, buffer, sizeof buffer, needed),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(key.query(u"Width", KeyValueBasicInformation, buffer, sizeof buffer, needed),
              STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(Registry, ShortBuffer_HoldsThePartThatFitsAndTheLengthIsReported) {
    key.set(u"Name", REG_SZ, u"abc\0"s);
    ULONG needed = 0;
    alignas(8) std::byte buffer[64]{};
    constexpr ULONG fixed = offsetof(KEY_VALUE_PARTIAL_INFORMATION, Data);
    EXPECT_EQ(key.query(u"Name", KeyValuePartialInformation, nullptr, 0, needed),
              STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(needed, fixed + 8);
    EXPECT_EQ(key.query(u"Name", KeyValuePartialInformation, buffer, fixed + 2, needed),
              STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(buffer[fixed], std::byte{'a'});
    EXPECT_EQ(buffer[fixed + 2], std::byte{0});
    EXPECT_EQ(key.query(u"Name", KeyValuePartialInformation, buffer, needed, needed),
              STATUS_SUCCESS);
}

TEST_P(Registry, Enumeration_GoesByCreationForValuesAndByNameForKeys) {
    key.set(u"Second", 2);
    key.set(u"First", 1);
    const created_key b(u"b", key.get());
    const created_key a(u"A", key.get());
    alignas(8) std::byte buffer[64];
    ULONG needed = 0;
    const auto& value = *reinterpret_cast<KEY_VALUE_BASIC_INFORMATION*>(buffer);
    ASSERT_EQ(
        ZwEnumerateValueKey(key.get(), 0, KeyValueBasicInformation, buffer, sizeof buffer, &needed),
        STATUS_SUCCESS);
    EXPECT_EQ(value.Name[0], u'S');
    EXPECT_EQ(
        ZwEnumerateValueKey(key.get(), 2, KeyValueBasicInformation, buffer, sizeof buffer, &needed),
        STATUS_NO_MORE_ENTRIES);
    const auto& below = *reinterpret_cast<KEY_BASIC_INFORMATION*>(buffer);
    ASSERT_EQ(ZwEnumerateKey(key.get(), 0, KeyBasicInformation, buffer, sizeof buffer, &needed),
              STATUS_SUCCESS);
    EXPECT_EQ(below.NameLength, 2u);
    EXPECT_EQ(below.Name[0], u'A');
    EXPECT_EQ(ZwEnumerateKey(key.get(), 2, KeyBasicInformation, buffer, sizeof buffer, &needed),
              STATUS_NO_MORE_ENTRIES);
}

TEST_P(Registry, Key_IsDescribedByCountsAndPath) {
    key.set(u"Depth", 2);
    const created_key below(u"Below", key.get());
    alignas(8) std::byte buffer[256];
    ULONG needed = 0;
    ASSERT_EQ(ZwQueryKey(key.get(), KeyFullInformation, buffer, sizeof buffer, &needed),
              STATUS_SUCCESS);
    const auto& full = *reinterpret_cast<KEY_FULL_INFORMATION*>(buffer);
    EXPECT_EQ(full.SubKeys, 1u);
    EXPECT_EQ(full.MaxNameLen, 10u);
    EXPECT_EQ(full.Values, 1u);
    EXPECT_EQ(full.MaxValueDataLen, 4u);
    ASSERT_EQ(ZwQueryKey(below.get(), KeyNameInformation, buffer, sizeof buffer, &needed),
              STATUS_SUCCESS);
    const auto& path = *reinterpret_cast<KEY_NAME_INFORMATION*>(buffer);
    const std::u16string text(reinterpret_cast<const char16_t*>(path.Name), path.NameLength / 2);
    EXPECT_EQ(text.substr(text.rfind(u"\\Sample")), u"\\Sample\\Below");
    ASSERT_EQ(ZwQueryKey(below.get(), KeyNodeInformation, buffer, sizeof buffer, &needed),
              STATUS_SUCCESS);
    EXPECT_EQ(reinterpret_cast<KEY_NODE_INFORMATION*>(buffer)->NameLength, 10u);
    EXPECT_EQ(ZwQueryKey(key.get(), KeyCachedInformation, buffer, sizeof buffer, &needed),
              STATUS_INVALID_PARAMETER);
}

TEST_P(Registry, DeletedKey_IsGoneForItsHandles) {
    const created_key below(u"Below", key.get());
    EXPECT_EQ(ZwDeleteKey(key.get()), STATUS_CANNOT_DELETE);
    EXPECT_EQ(ZwDeleteKey(below.get()), STATUS_SUCCESS);
    EXPECT_EQ(ZwDeleteKey(below.get()), STATUS_KEY_DELETED);
    ULONG number = 1;
    EXPECT_EQ(below.set(u"Depth", REG_DWORD, &number, 4), STATUS_KEY_DELETED);
    HANDLE opened = nullptr;
    EXPECT_EQ(open_key(opened, u"", below.get()), STATUS_KEY_DELETED);
    EXPECT_EQ(open_key(opened, u"Below", key.get()), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(Registry, DeletedValue_IsNotFound) {
    key.set(u"Depth", 1);
    unicode name(u"depth");
    EXPECT_EQ(ZwDeleteValueKey(key.get(), name.get()), STATUS_SUCCESS);
    EXPECT_EQ(ZwDeleteValueKey(key.get(), name.get()), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(Registry, EachMachine_HasItsOwn) {
    dispatch::random_choices choices(1);
    dispatch::sim_machine other(choices);
    const dispatch::machine::scope inside(other);
    HANDLE opened = nullptr;
    EXPECT_EQ(open_key(opened, service), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(Registry, DriverEntry_ReadsBelowItsRegistryPath) {
    key.set(u"Depth", 5);
    static ULONG seen = 0;
    const PDRIVER_INITIALIZE entry = [](PDRIVER_OBJECT driver, PUNICODE_STRING path) {
        driver->DriverUnload = [](PDRIVER_OBJECT) {};
        ULONG depth = 0;
        WCHAR name[] = u"Depth";
        RTL_QUERY_REGISTRY_TABLE table[2] = {};
        table[0].Flags = RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_REQUIRED;
        table[0].Name = name;
        table[0].EntryContext = &depth;
        const NTSTATUS status =
            RtlQueryRegistryValues(RTL_REGISTRY_ABSOLUTE, path->Buffer, table, nullptr, nullptr);
        seen = depth;
        return status;
    };
    const irp::loaded_driver driver(entry, u"Sample");
    EXPECT_EQ(seen, 5u);
    seen = 0;
    DRIVER_OBJECT* none = nullptr;
    EXPECT_EQ(irp::load_driver(entry, u"WithoutValues", none), STATUS_OBJECT_NAME_NOT_FOUND);
    HANDLE opened = nullptr;
    EXPECT_EQ(open_key(opened, service.substr(0, service.rfind(u'\\')) + u"\\WithoutValues"),
              STATUS_SUCCESS);
    ZwClose(opened);
}

IRPVERBS_ON_BOTH_MACHINES(Registry);

/// The query of one entry of a table, relative to the services.
class RegistryQueries : public Registry {
protected:
    struct passed {
        std::u16string name;
        ULONG type;
        std::u16string text;
        bool operator==(const passed&) const = default;
    };
    static NTSTATUS record(PWSTR name, ULONG type, PVOID data, ULONG length, PVOID context, PVOID) {
        auto& all = *static_cast<std::vector<passed>*>(context);
        const auto* const text = static_cast<const char16_t*>(data);
        all.push_back({name != nullptr ? reinterpret_cast<const char16_t*>(name) : u"", type,
                       text != nullptr ? std::u16string(text, length / 2) : u""});
        return STATUS_SUCCESS;
    }
    NTSTATUS query(const RTL_QUERY_REGISTRY_TABLE& entry) {
        RTL_QUERY_REGISTRY_TABLE table[2] = {entry};
        WCHAR path[] = u"Sample";
        return RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, path, table, &seen, nullptr);
    }
    NTSTATUS read(const char16_t* name, void* to, ULONG flags = 0, ULONG default_type = REG_NONE,
                  void* value = nullptr, ULONG length = 0) {
        return query({nullptr, RTL_QUERY_REGISTRY_DIRECT | flags, name_of(name), to, default_type,
                      value, length});
    }
    NTSTATUS call_for(const char16_t* name, ULONG flags = 0) {
        return query({record, flags, name_of(name), nullptr, REG_NONE, nullptr, 0});
    }
    static PWSTR name_of(const char16_t* name) { return const_cast<PWSTR>(name); }

    std::vector<passed> seen;
};

TEST_P(RegistryQueries, DirectNumber_IsStoredInPlace) {
    key.set(u"Depth", 3);
    ULONG depth = 0;
    EXPECT_EQ(read(u"Depth", &depth), STATUS_SUCCESS);
    EXPECT_EQ(depth, 3u);
}

TEST_P(RegistryQueries, DirectText_IsAllocatedOrCopied) {
    key.set(u"Name", REG_SZ, u"abc\0"s);
    UNICODE_STRING text{};
    EXPECT_EQ(read(u"Name", &text), STATUS_SUCCESS);
    EXPECT_EQ(text.Length, 6);
    EXPECT_EQ(text.MaximumLength, 8);
    EXPECT_EQ(text.Buffer[3], 0);
    ExFreePool(text.Buffer);
    WCHAR place[3];
    text = {0, 4, place};
    EXPECT_EQ(read(u"Name", &text), STATUS_BUFFER_TOO_SMALL);
    text.MaximumLength = 6;
    EXPECT_EQ(read(u"Name", &text), STATUS_SUCCESS);
    EXPECT_EQ(place[2], u'c');
}

TEST_P(RegistryQueries, DirectLongData_FollowTheSizeOfTheirSpace) {
    const ULONG data[] = {1, 2};
    EXPECT_EQ(key.set(u"Pair", REG_BINARY, data, sizeof data), STATUS_SUCCESS);
    LONG space[4] = {16};
    EXPECT_EQ(read(u"Pair", space), STATUS_SUCCESS);
    EXPECT_EQ(space[0], 8);
    EXPECT_EQ(space[1], REG_BINARY);
    EXPECT_EQ(space[3], 2);
    space[0] = 15;
    EXPECT_EQ(read(u"Pair", space), STATUS_BUFFER_TOO_SMALL);
    space[0] = -8;
    EXPECT_EQ(read(u"Pair", space), STATUS_SUCCESS);
    EXPECT_EQ(space[0], 1);
    EXPECT_EQ(space[1], 2);
    space[0] = -7;
    EXPECT_EQ(read(u"Pair", space), STATUS_BUFFER_TOO_SMALL);
}

TEST_P(RegistryQueries, MissingValue_IsItsDefaultOrPassedOver) {
    ULONG depth = 1;
    EXPECT_EQ(read(u"Depth", &depth), STATUS_SUCCESS);
    EXPECT_EQ(depth, 1u);
    ULONG fallback = 9;
    EXPECT_EQ(read(u"Depth", &depth, 0, REG_DWORD, &fallback, sizeof fallback), STATUS_SUCCESS);
    EXPECT_EQ(depth, 9u);
    WCHAR text[] = u"ab";
    UNICODE_STRING name{};
    EXPECT_EQ(read(u"Name", &name, 0, REG_SZ, text), STATUS_SUCCESS);
    EXPECT_EQ(name.Length, 4);
    ExFreePool(name.Buffer);
    EXPECT_EQ(read(u"Depth", &depth, RTL_QUERY_REGISTRY_REQUIRED, REG_DWORD, &fallback, 4),
              STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(RegistryQueries, TypeCheck_DemandsTheType) {
    key.set(u"Depth", 3);
    ULONG depth = 0;
    EXPECT_EQ(read(u"Depth", &depth, RTL_QUERY_REGISTRY_TYPECHECK,
                   REG_SZ << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT),
              STATUS_OBJECT_TYPE_MISMATCH);
    EXPECT_EQ(read(u"Depth", &depth, RTL_QUERY_REGISTRY_TYPECHECK,
                   REG_DWORD << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT),
              STATUS_SUCCESS);
    EXPECT_EQ(depth, 3u);
}

TEST_P(RegistryQueries, Routine_ReceivesEachValueWithATerminator) {
    key.set(u"Name", REG_SZ, u"ab"s); // stored without one
    key.set(u"List", REG_MULTI_SZ, u"one\0two\0\0"s);
    EXPECT_EQ(call_for(u"Name"), STATUS_SUCCESS);
    EXPECT_EQ(seen, (std::vector<passed>{{u"Name", REG_SZ, u"ab\0"s}}));
    seen.clear();
    EXPECT_EQ(call_for(u"List"), STATUS_SUCCESS);
    EXPECT_EQ(seen,
              (std::vector<passed>{{u"List", REG_SZ, u"one\0"s}, {u"List", REG_SZ, u"two\0"s}}));
    seen.clear();
    EXPECT_EQ(call_for(u"List", RTL_QUERY_REGISTRY_NOEXPAND), STATUS_SUCCESS);
    EXPECT_EQ(seen, (std::vector<passed>{{u"List", REG_MULTI_SZ, u"one\0two\0\0"s}}));
    seen.clear();
    EXPECT_EQ(call_for(nullptr, RTL_QUERY_REGISTRY_NOVALUE), STATUS_SUCCESS);
    EXPECT_EQ(seen, (std::vector<passed>{{u"", REG_NONE, u""}}));
}

TEST_P(RegistryQueries, EntryWithoutName_CallsForAllValues) {
    EXPECT_EQ(call_for(nullptr, RTL_QUERY_REGISTRY_REQUIRED), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(call_for(nullptr), STATUS_SUCCESS);
    key.set(u"A", REG_SZ, u"a\0"s);
    key.set(u"B", REG_SZ, u"b\0"s);
    EXPECT_EQ(call_for(nullptr, RTL_QUERY_REGISTRY_DELETE), STATUS_SUCCESS);
    EXPECT_EQ(seen.size(), 2u);
    seen.clear();
    EXPECT_EQ(call_for(nullptr), STATUS_SUCCESS);
    EXPECT_TRUE(seen.empty());
}

TEST_P(RegistryQueries, SubKey_HoldsTheEntriesBehindItUntilTheTopKey) {
    const created_key below(u"Parameters", key.get());
    below.set(u"Depth", 1);
    key.set(u"Depth", 2);
    ULONG inner = 0;
    ULONG outer = 0;
    RTL_QUERY_REGISTRY_TABLE table[4] = {
        {nullptr, RTL_QUERY_REGISTRY_SUBKEY, name_of(u"Parameters"), nullptr, 0, nullptr, 0},
        {nullptr, RTL_QUERY_REGISTRY_DIRECT, name_of(u"Depth"), &inner, 0, nullptr, 0},
        {nullptr, RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_TOPKEY, name_of(u"Depth"), &outer,
         0, nullptr, 0},
        {}};
    EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, static_cast<PCWSTR>(key.get()), table,
                                     nullptr, nullptr),
              STATUS_SUCCESS);
    EXPECT_EQ(inner, 1u);
    EXPECT_EQ(outer, 2u);
    table[0].Name = name_of(u"Nothing");
    EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_HANDLE, static_cast<PCWSTR>(key.get()), table,
                                     nullptr, nullptr),
              STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(RegistryQueries, WrongEntry_IsRefused) {
    EXPECT_EQ(read(nullptr, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(call_for(u"Depth", RTL_QUERY_REGISTRY_DIRECT), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(call_for(nullptr, RTL_QUERY_REGISTRY_SUBKEY), STATUS_INVALID_PARAMETER);
    RTL_QUERY_REGISTRY_TABLE none[1] = {};
    EXPECT_EQ(RtlQueryRegistryValues(RTL_REGISTRY_MAXIMUM, nullptr, none, nullptr, nullptr),
              STATUS_INVALID_PARAMETER);
}

TEST_P(RegistryQueries, RoutineThatFails_EndsTheQuery) {
    key.set(u"A", 1);
    key.set(u"B", 2);
    const PRTL_QUERY_REGISTRY_ROUTINE fail = [](PWSTR, ULONG, PVOID, ULONG, PVOID, PVOID) {
        return NTSTATUS{STATUS_DATA_ERROR};
    };
    EXPECT_EQ(query({fail, 0, nullptr, nullptr, 0, nullptr, 0}), STATUS_DATA_ERROR);
}

TEST_P(RegistryQueries, WriteAndDelete_GoByPath) {
    WCHAR path[] = u"Sample\\New";
    WCHAR name[] = u"Depth";
    ULONG number = 4;
    EXPECT_EQ(RtlCheckRegistryKey(RTL_REGISTRY_SERVICES, path), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(RtlDeleteRegistryValue(RTL_REGISTRY_SERVICES, path, name),
              STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(RtlWriteRegistryValue(RTL_REGISTRY_SERVICES, path, name, REG_DWORD, &number, 4),
              STATUS_SUCCESS);
    EXPECT_EQ(RtlCheckRegistryKey(RTL_REGISTRY_SERVICES, path), STATUS_SUCCESS);
    EXPECT_EQ(RtlDeleteRegistryValue(RTL_REGISTRY_SERVICES, path, name), STATUS_SUCCESS);
    for (const ULONG place :
         std::initializer_list<ULONG>{RTL_REGISTRY_CONTROL, RTL_REGISTRY_WINDOWS_NT,
                                      RTL_REGISTRY_DEVICEMAP, RTL_REGISTRY_USER}) {
        WCHAR made[] = u"Made";
        EXPECT_EQ(RtlCreateRegistryKey(place | RTL_REGISTRY_OPTIONAL, made), STATUS_SUCCESS);
        EXPECT_EQ(RtlCheckRegistryKey(place, made), STATUS_SUCCESS);
    }
}

IRPVERBS_ON_BOTH_MACHINES(RegistryQueries);

} // namespace
