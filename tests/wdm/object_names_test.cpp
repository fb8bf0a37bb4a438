// Folders, symbolic links and names of objects.
#include <gtest/gtest.h>
#include <ntifs.h>

#include <string>

namespace {

struct ObjectNames : testing::Test {
    UNICODE_STRING name{};
    OBJECT_ATTRIBUTES attributes{};
    POBJECT_ATTRIBUTES named(PCWSTR text, ULONG flags = 0, HANDLE root = nullptr) {
        RtlInitUnicodeString(&name, text);
        InitializeObjectAttributes(&attributes, &name, flags, root, nullptr);
        return &attributes;
    }
    NTSTATUS create_link(HANDLE* link, PCWSTR text, PCWSTR target, ULONG flags = 0) {
        UNICODE_STRING to;
        RtlInitUnicodeString(&to, target);
        return ZwCreateSymbolicLinkObject(link, SYMBOLIC_LINK_ALL_ACCESS, named(text, flags), &to);
    }
    NTSTATUS open_link(HANDLE* link, PCWSTR text, HANDLE root = nullptr) {
        return ZwOpenSymbolicLinkObject(link, SYMBOLIC_LINK_QUERY, named(text, 0, root));
    }
    static std::u16string target_of(HANDLE link) {
        WCHAR buffer[64];
        UNICODE_STRING text{0, sizeof buffer, buffer};
        EXPECT_EQ(ZwQuerySymbolicLinkObject(link, &text, nullptr), STATUS_SUCCESS);
        return {reinterpret_cast<const char16_t*>(buffer), text.Length / sizeof(WCHAR)};
    }
};

TEST_F(ObjectNames, LinkOfIoCreateSymbolicLink_IsOpenedAndQueried) {
    UNICODE_STRING from, to;
    RtlInitUnicodeString(&from, L"\\DosDevices\\Names0");
    RtlInitUnicodeString(&to, L"\\Device\\Names");
    ASSERT_EQ(IoCreateUnprotectedSymbolicLink(&from, &to), STATUS_SUCCESS);
    HANDLE link = nullptr;
    ASSERT_EQ(open_link(&link, L"\\??\\names0"), STATUS_SUCCESS);
    EXPECT_EQ(target_of(link), u"\\Device\\Names");
    ULONG length = 0;
    UNICODE_STRING nothing{};
    EXPECT_EQ(ZwQuerySymbolicLinkObject(link, &nothing, &length), STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(length, 26u);
    ZwClose(link);
    ASSERT_EQ(open_link(&link, L"\\??\\Names0"), STATUS_SUCCESS); // it outlives its handles
    EXPECT_EQ(IoDeleteSymbolicLink(&from), STATUS_SUCCESS);
    EXPECT_EQ(target_of(link), u"\\Device\\Names");
    ZwClose(link);
    EXPECT_EQ(open_link(&link, L"\\??\\Names0"), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_F(ObjectNames, TemporaryLink_GoesWithItsLastHandle) {
    HANDLE link = nullptr, other = nullptr;
    ASSERT_EQ(create_link(&link, L"\\??\\Names1", L"\\Device\\Null"), STATUS_SUCCESS);
    EXPECT_EQ(create_link(&other, L"\\??\\Names1", L"\\Device\\Null"),
              STATUS_OBJECT_NAME_COLLISION);
    EXPECT_EQ(create_link(&other, L"\\??\\Names1", L"\\Device\\Other", OBJ_OPENIF),
              STATUS_OBJECT_NAME_EXISTS);
    ZwClose(link);
    EXPECT_EQ(target_of(other), u"\\Device\\Null");
    ASSERT_EQ(open_link(&link, L"\\??\\Names1"), STATUS_SUCCESS);
    ZwClose(link);
    ZwClose(other);
    EXPECT_EQ(open_link(&link, L"\\??\\Names1"), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_F(ObjectNames, PermanentLink_StaysUntilItIsMadeTemporary) {
    HANDLE link = nullptr;
    ASSERT_EQ(create_link(&link, L"\\??\\Names2", L"\\Device\\Null", OBJ_PERMANENT),
              STATUS_SUCCESS);
    ZwClose(link);
    ASSERT_EQ(open_link(&link, L"\\??\\Names2"), STATUS_SUCCESS);
    EXPECT_EQ(ZwMakeTemporaryObject(link), STATUS_SUCCESS);
    EXPECT_EQ(target_of(link), u"\\Device\\Null");
    ZwClose(link);
    EXPECT_EQ(open_link(&link, L"\\??\\Names2"), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(ZwMakeTemporaryObject(link), STATUS_INVALID_HANDLE);
}

TEST_F(ObjectNames, Folder_HoldsDevicesAndIsARoot) {
    HANDLE folder = nullptr, again = nullptr, link = nullptr;
    ASSERT_EQ(ZwCreateDirectoryObject(&folder, DIRECTORY_ALL_ACCESS, named(L"\\Device\\Names3")),
              STATUS_SUCCESS);
    EXPECT_EQ(ZwOpenDirectoryObject(&again, DIRECTORY_QUERY, named(L"\\Device\\names3")),
              STATUS_SUCCESS);
    DRIVER_OBJECT driver{};
    PDEVICE_OBJECT device = nullptr;
    UNICODE_STRING path;
    RtlInitUnicodeString(&path, L"\\Device\\Names3\\DR0");
    ASSERT_EQ(IoCreateDevice(&driver, 0, &path, FILE_DEVICE_DISK, 0, FALSE, &device),
              STATUS_SUCCESS);
    EXPECT_EQ(ZwOpenDirectoryObject(&link, DIRECTORY_QUERY, named(L"\\Device\\Names3\\DR0")),
              STATUS_OBJECT_TYPE_MISMATCH);
    UNICODE_STRING target;
    RtlInitUnicodeString(&target, L"\\Device\\Names3\\DR0");
    ASSERT_EQ(ZwCreateSymbolicLinkObject(&link, SYMBOLIC_LINK_ALL_ACCESS,
                                         named(L"Partition0", 0, folder), &target),
              STATUS_SUCCESS);
    HANDLE opened = nullptr;
    EXPECT_EQ(open_link(&opened, L"\\Device\\Names3\\Partition0"), STATUS_SUCCESS);
    EXPECT_EQ(open_link(&opened, L"x", link), STATUS_OBJECT_TYPE_MISMATCH);
    IoDeleteDevice(device);
    ZwClose(opened);
    ZwClose(link);
    ZwClose(again);
    ZwClose(folder);
    EXPECT_EQ(ZwOpenDirectoryObject(&folder, DIRECTORY_QUERY, named(L"\\Device\\Names3")),
              STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(ZwOpenDirectoryObject(&folder, DIRECTORY_QUERY, nullptr), STATUS_INVALID_PARAMETER);
}

TEST_F(ObjectNames, NameString_IsThePathOfTheObject) {
    DRIVER_OBJECT driver{};
    PDEVICE_OBJECT device = nullptr, unnamed = nullptr;
    RtlInitUnicodeString(&name, L"\\Device\\Names4");
    ASSERT_EQ(IoCreateDevice(&driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
              STATUS_SUCCESS);
    ASSERT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &unnamed),
              STATUS_SUCCESS);
    alignas(OBJECT_NAME_INFORMATION) UCHAR buffer[128];
    auto* found = reinterpret_cast<POBJECT_NAME_INFORMATION>(buffer);
    ULONG length = 0;
    EXPECT_EQ(ObQueryNameString(device, nullptr, 0, &length), STATUS_INFO_LENGTH_MISMATCH);
    EXPECT_EQ(length, sizeof(OBJECT_NAME_INFORMATION) + 30);
    EXPECT_EQ(ObQueryNameString(device, found, length, &length), STATUS_SUCCESS);
    EXPECT_TRUE(RtlEqualUnicodeString(&found->Name, &name, FALSE));
    EXPECT_EQ(ObQueryNameString(unnamed, found, sizeof buffer, &length), STATUS_SUCCESS);
    EXPECT_EQ(length, sizeof(OBJECT_NAME_INFORMATION));
    EXPECT_EQ(found->Name.Buffer, nullptr);
    IoDeleteDevice(unnamed);
    IoDeleteDevice(device);
}

} // namespace
