// Memory for devices, and physical addresses.
#include <gtest/gtest.h>
#include <ntifs.h>

namespace {

TEST(ContiguousMemory, BeginsAtAPage) {
    PHYSICAL_ADDRESS any;
    any.QuadPart = -1;
    auto* const memory = static_cast<char*>(MmAllocateContiguousMemory(5000, any));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(PAGE_ALIGN(memory), memory);
    memset(memory, 1, 5000);
    const PHYSICAL_ADDRESS address = MmGetPhysicalAddress(memory);
    EXPECT_EQ(MmGetVirtualForPhysical(address), memory);
    EXPECT_EQ(MmMapIoSpace(address, 5000, MmNonCached), memory);
    MmFreeContiguousMemory(memory);
}

TEST(ContiguousMemory, PagesOfAnMdl_AreZeroedAndFreedApart) {
    PHYSICAL_ADDRESS any{};
    MDL* const pages = MmAllocatePagesForMdl(any, any, any, 5000);
    ASSERT_NE(pages, nullptr);
    EXPECT_EQ(MmGetMdlByteCount(pages), 2 * PAGE_SIZE);
    const auto* const bytes =
        static_cast<const char*>(MmGetSystemAddressForMdlSafe(pages, NormalPagePriority));
    EXPECT_EQ(bytes[0], 0);
    EXPECT_EQ(bytes[2 * PAGE_SIZE - 1], 0);
    MmFreePagesFromMdl(pages);
    ExFreePool(pages);
}

TEST(ContiguousMemory, AddressOfNothing_IsNotValid) {
    int here = 0;
    EXPECT_TRUE(MmIsAddressValid(&here));
    EXPECT_FALSE(MmIsAddressValid(nullptr));
    PHYSICAL_ADDRESS device;
    device.QuadPart = 0x3f8;
    EXPECT_EQ(MmMapIoSpace(device, 8, MmNonCached), nullptr);
}

} // namespace
