// Shared opens of a file, and lists of extended attributes.
#include <gtest/gtest.h>
#include <ntifs.h>

#include <cstring>

namespace {

constexpr ULONG all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

TEST(ShareAccess, Opens_FitWhenEachSharesWhatTheOthersDo) {
    SHARE_ACCESS opens{};
    FILE_OBJECT reader{}, writer{}, third{};
    IoSetShareAccess(FILE_READ_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, &reader, &opens);
    EXPECT_EQ(IoCheckShareAccess(FILE_WRITE_DATA, FILE_SHARE_WRITE, &writer, &opens, TRUE),
              STATUS_SHARING_VIOLATION); // there is a reader
    EXPECT_EQ(IoCheckShareAccess(FILE_APPEND_DATA, all, &writer, &opens, TRUE), STATUS_SUCCESS);
    EXPECT_EQ(opens.OpenCount, 2u);
    EXPECT_EQ(opens.Writers, 1u);
    EXPECT_EQ(opens.SharedDelete, 1u);
    EXPECT_EQ(IoCheckShareAccess(DELETE, all, &third, &opens, TRUE), STATUS_SHARING_VIOLATION);
    EXPECT_EQ(IoCheckShareAccess(FILE_EXECUTE, FILE_SHARE_READ, &third, &opens, TRUE),
              STATUS_SHARING_VIOLATION); // there is a writer
    EXPECT_EQ(opens.OpenCount, 2u);
}

TEST(ShareAccess, RemovedOpen_ConflictsWithNoOther) {
    SHARE_ACCESS opens{};
    FILE_OBJECT exclusive{}, second{};
    IoSetShareAccess(FILE_READ_DATA | DELETE, 0, &exclusive, &opens);
    EXPECT_EQ(IoCheckShareAccess(FILE_READ_DATA, all, &second, &opens, FALSE),
              STATUS_SHARING_VIOLATION);
    IoRemoveShareAccess(&exclusive, &opens);
    EXPECT_EQ(IoCheckShareAccess(FILE_READ_DATA, all, &second, &opens, FALSE), STATUS_SUCCESS);
    EXPECT_EQ(opens.OpenCount, 0u); // no update was asked for
    IoUpdateShareAccess(&second, &opens);
    EXPECT_EQ(opens.OpenCount, 1u);
    EXPECT_EQ(opens.Readers, 1u);
    EXPECT_EQ(opens.SharedWrite, 1u);
}

TEST(ShareAccess, OpenForAttributes_IsNotCounted) {
    SHARE_ACCESS opens{};
    FILE_OBJECT exclusive{}, attributes{};
    IoSetShareAccess(FILE_WRITE_DATA, 0, &exclusive, &opens);
    EXPECT_EQ(IoCheckShareAccess(FILE_READ_ATTRIBUTES, 0, &attributes, &opens, TRUE),
              STATUS_SUCCESS);
    EXPECT_EQ(opens.OpenCount, 1u);
    IoRemoveShareAccess(&attributes, &opens);
    EXPECT_EQ(opens.OpenCount, 1u);
}

struct ExtendedAttributes : testing::Test {
    alignas(ULONG) char bytes[64]{};
    ULONG end = 0; // of the last entry
    ULONG error = 99;
    FILE_FULL_EA_INFORMATION* at(ULONG offset) {
        return reinterpret_cast<FILE_FULL_EA_INFORMATION*>(bytes + offset);
    }
    ULONG add(const char* name, USHORT value, bool last) {
        const ULONG start = (end + 3) & ~3u;
        const auto length = static_cast<UCHAR>(strlen(name));
        end = start + 9u + length + value;
        *at(start) = {last ? 0 : ((end + 3) & ~3u) - start, 0, length, value, {}};
        memcpy(bytes + start + 8, name, length + 1u);
        return start;
    }
    NTSTATUS check(ULONG length) { return IoCheckEaBufferValidity(at(0), length, &error); }
};

TEST_F(ExtendedAttributes, EntriesWithinTheBuffer_AreValid) {
    add("first", 4, false);
    const ULONG second = add("second", 3, true);
    EXPECT_EQ(check(end), STATUS_SUCCESS);
    EXPECT_EQ(error, 99u);
    EXPECT_EQ(check(end - 1), STATUS_EA_LIST_INCONSISTENT);
    EXPECT_EQ(error, second);
    EXPECT_EQ(check(7), STATUS_EA_LIST_INCONSISTENT);
    EXPECT_EQ(error, 0u);
}

TEST_F(ExtendedAttributes, WrongEntry_IsNamedByItsOffset) {
    add("first", 4, false);
    const ULONG second = add("second", 3, false);
    add("third", 0, true);
    at(second)->NextEntryOffset += 4;
    EXPECT_EQ(check(sizeof bytes), STATUS_EA_LIST_INCONSISTENT);
    EXPECT_EQ(error, second);
    at(0)->EaNameLength = 4; // not ended by a zero
    EXPECT_EQ(check(sizeof bytes), STATUS_EA_LIST_INCONSISTENT);
    EXPECT_EQ(error, 0u);
}

} // namespace
