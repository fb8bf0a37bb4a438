// The steps around a verb that is called for a user.
#include <ci/user_data.h>

#include <gtest/gtest.h>

#include <cstring>
#include <sys/mman.h>

namespace {

/// A reserved page that cannot be accessed.
class unmapped_page {
public:
    unmapped_page() : page_(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
    ~unmapped_page() { munmap(page_, 4096); }
    unmapped_page(const unmapped_page&) = delete;
    unmapped_page& operator=(const unmapped_page&) = delete;
    void* get() const { return page_; }

private:
    void* page_;
};

class UserDataCapture : public ::testing::TestWithParam<int> {
protected:
    KPROCESSOR_MODE mode() const { return static_cast<KPROCESSOR_MODE>(GetParam()); }
};

// The structure itself lies in the user's memory, and is copied before its sizes are checked.
TEST(UserDataStructure, UnmappedInUserMode_ReturnsAccessViolation) {
    const unmapped_page page;
    CI_UDATA* shadow = nullptr;
    EXPECT_EQ(CiCaptureUserData(static_cast<const CI_UDATA*>(page.get()), UserMode, &shadow),
              STATUS_ACCESS_VIOLATION);
    EXPECT_EQ(CiCaptureUserData(nullptr, UserMode, &shadow), STATUS_ACCESS_VIOLATION);
    EXPECT_EQ(shadow, nullptr);
}

// The driver works on a copy: changes that the user makes to its buffers during the verb have no
// effect.
TEST_P(UserDataCapture, BuffersChangedDuringVerb_DriverUsesCopy) {
    char input[8] = "command";
    char output[8] = "before";
    const CI_UDATA user{input, output, sizeof(input), sizeof(output)};
    CI_UDATA* shadow = nullptr;
    ASSERT_EQ(CiCaptureUserData(&user, mode(), &shadow), STATUS_SUCCESS);
    std::strcpy(input, "changed");
    EXPECT_STREQ(static_cast<const char*>(shadow->pInputBuffer), "command");
    std::strcpy(static_cast<char*>(shadow->pOutputBuffer), "output");
    shadow->OutputSize = 7;
    EXPECT_STREQ(output, "before");
    SIZE_T returned = 0;
    EXPECT_EQ(CiReturnUserData(shadow, mode(), &returned), STATUS_SUCCESS);
    EXPECT_EQ(returned, 7u);
    EXPECT_STREQ(output, "output");
}

TEST_P(UserDataCapture, OverlappingBuffers_InputUnaffectedByOutput) {
    char both[8] = "command";
    const CI_UDATA user{both, both, sizeof(both), sizeof(both)};
    CI_UDATA* shadow = nullptr;
    ASSERT_EQ(CiCaptureUserData(&user, mode(), &shadow), STATUS_SUCCESS);
    std::strcpy(static_cast<char*>(shadow->pOutputBuffer), "output");
    EXPECT_STREQ(static_cast<const char*>(shadow->pInputBuffer), "command");
    EXPECT_EQ(CiReturnUserData(shadow, mode(), nullptr), STATUS_SUCCESS);
    EXPECT_STREQ(both, "output");
}

TEST_P(UserDataCapture, OutputLargerThanBuffer_TruncatedWithOverflow) {
    char output[4] = "abc";
    const CI_UDATA user{nullptr, output, 0, 2};
    CI_UDATA* shadow = nullptr;
    ASSERT_EQ(CiCaptureUserData(&user, mode(), &shadow), STATUS_SUCCESS);
    std::memcpy(shadow->pOutputBuffer, "xy", 2);
    shadow->OutputSize = 1000;
    SIZE_T returned = 0;
    EXPECT_EQ(CiReturnUserData(shadow, mode(), &returned), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(returned, 2u);
    EXPECT_STREQ(output, "xyc");
}

TEST_P(UserDataCapture, SizeWithoutBufferOrTooLarge_ReturnsInvalidParameter) {
    char byte = 0;
    CI_UDATA* shadow = nullptr;
    for (const CI_UDATA& user : {CI_UDATA{nullptr, nullptr, 1, 0}, CI_UDATA{nullptr, nullptr, 0, 1},
                                 CI_UDATA{&byte, nullptr, CI_UDATA_MAXIMUM_SIZE + 1, 0},
                                 CI_UDATA{nullptr, &byte, 0, ~SIZE_T{0}}})
        EXPECT_EQ(CiCaptureUserData(&user, mode(), &shadow), STATUS_INVALID_PARAMETER);
}

INSTANTIATE_TEST_SUITE_P(Of, UserDataCapture, ::testing::Values(int{KernelMode}, int{UserMode}));

TEST(UserDataUnmapped, UnmappedBuffer_ReturnsAccessViolation) {
    const unmapped_page page;
    char output[4] = "abc";
    CI_UDATA* shadow = nullptr;
    const CI_UDATA unreadable{page.get(), output, 16, 4};
    EXPECT_EQ(CiCaptureUserData(&unreadable, UserMode, &shadow), STATUS_ACCESS_VIOLATION);
    const CI_UDATA unwritable{nullptr, page.get(), 0, 16};
    ASSERT_EQ(CiCaptureUserData(&unwritable, UserMode, &shadow), STATUS_SUCCESS);
    SIZE_T returned = 1;
    EXPECT_EQ(CiReturnUserData(shadow, UserMode, &returned), STATUS_ACCESS_VIOLATION);
    EXPECT_EQ(returned, 0u);
}

} // namespace
