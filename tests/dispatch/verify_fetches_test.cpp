// A word of another process is loaded once.
#include <dispatch/bugcheck.h>
#include <dispatch/support/fetched_words.hpp>

#include <support/findings.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace irpverbs::testing {
namespace {

using dispatch::detail::check;
using dispatch::detail::fetched_words;

constexpr std::array<std::uint64_t, 3> shared_words{};

TEST(DoubleFetch, Broken_IsReported) {
    findings seen{check::pool};
    fetched_words loaded;
    loaded.begin();
    loaded.load(&shared_words[0], 8);
    loaded.load(&shared_words[1], 8);
    loaded.load(&shared_words[0], 8);
    EXPECT_TRUE(only_reported(seen, "DoubleFetch", violation, 0x4952000A));
    EXPECT_TRUE(seen.all()[0].has_stack("first loaded at"));
}

TEST(DoubleFetch, Kept_IsNotReported) {
    const findings seen{check::pool};
    fetched_words loaded;
    for (int i = 0; i < 2; ++i) { // of the next message
        loaded.begin();
        loaded.load(&shared_words[0], 8);
        loaded.load(&shared_words[1], 16);
    }
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(DoubleFetchRule, PartOfWhatWasLoaded_IsReported) {
    const findings seen{check::pool};
    fetched_words loaded;
    loaded.begin();
    loaded.load(&shared_words[0], 16);
    loaded.load(&shared_words[1], 16);
    EXPECT_TRUE(only_reported(seen, "DoubleFetch", violation, 0x4952000A));
}

TEST(DoubleFetchRule, WhileThePoolIsNotChecked_NothingIsNoted) {
    fetched_words loaded;
    {
        const findings seen{check::locks};
        loaded.begin();
        loaded.load(&shared_words[0], 8);
        loaded.load(&shared_words[0], 8);
        EXPECT_TRUE(nothing_reported(seen));
    }
    const findings seen{check::pool};
    loaded.load(&shared_words[0], 8);
    EXPECT_TRUE(nothing_reported(seen));
}

} // namespace
} // namespace irpverbs::testing
