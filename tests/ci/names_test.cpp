// Names of bits.
#include <ci/names.hpp>

#include <gtest/gtest.h>

#include <set>

namespace {

using namespace irpverbs;

TEST(CapabilityNames, CaCapabilityBits_EachHasUniqueName) {
    std::set<std::string_view> names;
    for (unsigned bit = 0; bit < 32; ++bit) {
        const auto of_bit = ci::ca_capabilities(1u << bit);
        ASSERT_EQ(of_bit.size(), 1u) << bit;
        EXPECT_TRUE(names.insert(of_bit[0]).second) << of_bit[0];
    }
}

} // namespace
