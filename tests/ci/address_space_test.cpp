#include <ci/support/address_space.hpp>

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using irpverbs::ci::address_space;
using irpverbs::ci::detail::unique_descriptor;

std::unique_ptr<address_space> own_space() {
    return address_space::make(address_space::open_own(), getpid());
}

std::unique_ptr<address_space> space_of(const std::string& path, int flags) {
    return address_space::make(unique_descriptor(open(path.c_str(), flags | O_CLOEXEC)), getpid());
}

/// Two pages, of which the second can't be accessed.
class guarded_page {
public:
    guarded_page()
        : pages_(static_cast<char*>(mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        munmap(pages_ + size, size);
    }
    ~guarded_page() { munmap(pages_, size); }
    guarded_page(const guarded_page&) = delete;
    guarded_page& operator=(const guarded_page&) = delete;

    char* end() const { return pages_ + size; }

private:
    static constexpr std::size_t size = 4096;
    char* pages_;
};

TEST(AddressSpace, DescriptorThatIsNotTheProcesssMemory_IsRefused) {
    EXPECT_EQ(address_space::make({}, getpid()), nullptr);
    EXPECT_EQ(address_space::make(address_space::open_own(), getppid()), nullptr);
    EXPECT_EQ(space_of("/proc/self/mem", O_RDONLY), nullptr);
    EXPECT_EQ(space_of("/proc/self/maps", O_RDONLY), nullptr);
    EXPECT_EQ(space_of("/proc/self/comm", O_RDWR), nullptr);
    EXPECT_EQ(space_of("/dev/null", O_RDWR), nullptr);
    EXPECT_NE(space_of("/proc/self/mem", O_RDWR), nullptr);
}

TEST(AddressSpace, Places_AreThoseThatAProcessMayHave) {
    const auto space = own_space();
    ASSERT_NE(space, nullptr);
    int value = 0;
    EXPECT_FALSE(address_space::is_foreign(&value));
    EXPECT_TRUE(address_space::is_foreign(space->place_of(&value, sizeof(value))));
    EXPECT_EQ(space->place_of(&value, std::uint64_t{1} << 48), nullptr);
    EXPECT_EQ(space->place_of(reinterpret_cast<void*>(std::uintptr_t{1} << 50), 1), nullptr);
}

TEST(AddressSpace, Copies_ReachBothSpacesInEveryDirection) {
    const auto one = own_space();
    const auto other = own_space();
    ASSERT_TRUE(one != nullptr && other != nullptr);
    std::vector<char> from(40'000);
    std::iota(from.begin(), from.end(), char{1});
    for (const bool from_foreign : {false, true})
        for (const bool to_foreign : {false, true}) {
            std::vector<char> to(from.size());
            const void* source =
                from_foreign ? one->place_of(from.data(), from.size()) : from.data();
            void* target = to_foreign ? other->place_of(to.data(), to.size()) : to.data();
            EXPECT_TRUE(address_space::copy(target, source, from.size()));
            EXPECT_EQ(to, from);
        }
    EXPECT_TRUE(address_space::copy(nullptr, nullptr, 0));
}

TEST(AddressSpace, PageThatIsNotMapped_FailsTheCopy) {
    const auto space = own_space();
    ASSERT_NE(space, nullptr);
    const guarded_page page;
    std::array<char, 16> own{};
    void* const across = space->place_of(page.end() - 8, own.size());
    EXPECT_FALSE(address_space::copy(own.data(), across, own.size()));
    EXPECT_FALSE(address_space::copy(across, own.data(), own.size()));
    EXPECT_TRUE(address_space::copy(own.data(), across, 8));
    ULONGLONG before = 0;
    EXPECT_FALSE(address_space::fetch_add(space->place_of(page.end(), 8), 1, before));
}

TEST(AddressSpace, AtomicOperations_ReturnTheFormerValue) {
    const auto space = own_space();
    ASSERT_NE(space, nullptr);
    alignas(8) volatile ULONGLONG word = 5;
    void* const at = space->place_of(const_cast<ULONGLONG*>(&word), sizeof(word));
    ULONGLONG before = 0;
    EXPECT_TRUE(address_space::fetch_add(at, 3, before));
    EXPECT_EQ(before, 5u);
    EXPECT_EQ(word, 8u);
    EXPECT_TRUE(address_space::compare_swap(at, 8, 20, before));
    EXPECT_EQ(before, 8u);
    EXPECT_EQ(word, 20u);
    EXPECT_TRUE(address_space::compare_swap(at, 8, 30, before));
    EXPECT_EQ(before, 20u);
    EXPECT_EQ(word, 20u);
}

TEST(AddressSpace, ProcessThatHasEnded_FailsTheCopy) {
    static char value = 'a';
    const pid_t child = fork();
    if (child == 0) {
        value = 'b';
        raise(SIGSTOP);
        _exit(0);
    }
    int state = 0;
    ASSERT_EQ(waitpid(child, &state, WUNTRACED), child);
    const std::string path = "/proc/" + std::to_string(child) + "/mem";
    const auto space =
        address_space::make(unique_descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC)), child);
    ASSERT_NE(space, nullptr);
    char seen = 0;
    EXPECT_TRUE(address_space::copy(&seen, space->place_of(&value, 1), 1));
    EXPECT_EQ(seen, 'b');
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, &state, 0), child);
    EXPECT_FALSE(address_space::copy(&seen, space->place_of(&value, 1), 1));
    EXPECT_FALSE(address_space::copy(space->place_of(&value, 1), &seen, 1));
}

TEST(AddressSpace, PlacesOfThisProcess_AreCopiedByTheSystem) {
    const address_space& own = address_space::own();
    EXPECT_FALSE(own.has_ended());
    std::vector<char> from(40'000);
    std::iota(from.begin(), from.end(), char{1});
    const auto other = own_space();
    ASSERT_NE(other, nullptr);
    const std::array<const address_space*, 3> spaces{&own, other.get(), nullptr};
    for (const address_space* source : spaces)
        for (const address_space* target : spaces) {
            std::vector<char> to(from.size());
            const void* first =
                source != nullptr ? source->place_of(from.data(), from.size()) : from.data();
            void* second = target != nullptr ? target->place_of(to.data(), to.size()) : to.data();
            EXPECT_TRUE(address_space::copy(second, first, from.size()));
            EXPECT_EQ(to, from);
        }
}

TEST(AddressSpace, UnmappedPlacesOfThisProcess_FailTheCopyAtEitherEnd) {
    const address_space& own = address_space::own();
    const auto other = own_space();
    ASSERT_NE(other, nullptr);
    const guarded_page page;
    std::array<char, 16> bytes{};
    void* const across = own.place_of(page.end() - 8, bytes.size());
    for (void* const end : {static_cast<void*>(bytes.data()), own.place_of(bytes.data(), 16),
                            other->place_of(bytes.data(), 16)}) {
        EXPECT_FALSE(address_space::copy(end, across, bytes.size()));
        EXPECT_FALSE(address_space::copy(across, end, bytes.size()));
        EXPECT_TRUE(address_space::copy(end, across, 8));
        EXPECT_TRUE(address_space::copy(across, end, 8));
    }
    ULONGLONG before = 0;
    void* const word = own.place_of(page.end(), 8);
    EXPECT_FALSE(address_space::fetch_add(word, 1, before));
    EXPECT_FALSE(address_space::compare_swap(word, 0, 1, before));
    EXPECT_FALSE(address_space::write_word(word, 1));
}

TEST(AddressSpace, ChildOfThisProcess_CopiesItsOwnMemory) {
    static char value = 'a';
    void* const place = address_space::own().place_of(&value, 1);
    const pid_t child = fork();
    if (child == 0) {
        const char other = 'b';
        _exit(address_space::copy(place, &other, 1) && value == 'b' ? 0 : 1);
    }
    int state = -1;
    ASSERT_EQ(waitpid(child, &state, 0), child);
    EXPECT_EQ(state, 0);
    EXPECT_EQ(value, 'a');
}

TEST(AddressSpace, Numbers_AreUsedAgain) {
    for (int i = 0; i < 5000; ++i)
        ASSERT_NE(own_space(), nullptr) << i;
}

} // namespace
