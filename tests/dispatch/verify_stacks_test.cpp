// Call stacks are served from a cache of earlier unwinding; they must equal the unwinder's result.
#include <dispatch/support/verify.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <alloca.h>
#include <cstddef>
#include <execinfo.h>
#include <random>
#include <span>

namespace {

using irpverbs::dispatch::detail::call_stack;
using irpverbs::dispatch::detail::capture_stack;

// The innermost frame is the same function at two of its calls; all outer frames must be equal. The
// address sanitizer adds a frame of its own before it.
[[gnu::noinline]] void compare(int& differences) {
    const call_stack ours = capture_stack(1);
    void* theirs[call_stack::max_frames];
    const std::span<void*> whole(theirs, std::size_t(backtrace(theirs, call_stack::max_frames)));
    const auto first = std::find(whole.begin() + 1, whole.end(), ours.frames[1]);
    const auto left = std::size_t(whole.end() - first);
    const bool cut = whole.size() == call_stack::max_frames;
    if (left == 0 || (!cut && left + 1 != ours.count)) ++differences;
    const auto common = std::ptrdiff_t(std::min<std::size_t>(left, ours.count - 1));
    if (!std::equal(first, first + common, ours.frames + 1)) ++differences;
}

using path = std::minstd_rand;
void wander(path& choose, int depth, int& differences);

[[gnu::noinline]] void by_one(path& choose, int depth, int& differences) {
    wander(choose, depth, differences);
    asm volatile(""); // no tail call
}

[[gnu::noinline]] void by_another(path& choose, int depth, int& differences) {
    wander(choose, depth, differences);
    asm volatile("");
}

// A frame whose size the compiler does not know.
[[gnu::noinline]] void over_a_hole(path& choose, int depth, int& differences) {
    const std::size_t size = 16 + choose() % 200;
    auto* hole = static_cast<volatile char*>(alloca(size));
    hole[size - 1] = 1;
    wander(choose, depth, differences);
    hole[0] = 1;
}

[[gnu::noinline]] void wander(path& choose, int depth, int& differences) {
    if (depth == 0) return compare(differences);
    switch (choose() % 3) {
    case 0:
        by_one(choose, depth - 1, differences);
        break;
    case 1:
        by_another(choose, depth - 1, differences);
        break;
    default:
        over_a_hole(choose, depth - 1, differences);
    }
    asm volatile("");
}

TEST(CallStacks, CapturedStack_EqualsUnwindersStack) {
    path choose(1);
    int differences = 0;
    for (int i = 0; i < 100; ++i) // the unwinder has to meet a frame of varying size
        over_a_hole(choose, 0, differences);
    differences = 0;
    for (int i = 0; i < 20'000; ++i)
        wander(choose, i % 5, differences);
    EXPECT_EQ(differences, 0);
}

TEST(CallStacks, SkipAndLimit_TruncateStack) {
    const call_stack whole = capture_stack(1);
    ASSERT_GT(whole.count, 3u);
    EXPECT_EQ(capture_stack(1, 2).count, 2u);
    const call_stack outer = capture_stack(2);
    EXPECT_EQ(outer.frames[0], whole.frames[1]);
    EXPECT_EQ(capture_stack(1, 1000).count, whole.count);
}

} // namespace
