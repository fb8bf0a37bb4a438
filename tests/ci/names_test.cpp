// Names of bits.
#include <ci/names.hpp>

#include <gtest/gtest.h>

#include <set>

namespace {

using namespace irpverbs;

TEST(CompletionNames, EachStatus_HasAUniqueName) {
    std::set<std::string_view> names;
    for (unsigned status = IB_WC_SUCCESS; status <= IB_WC_GENERAL_ERROR; ++status)
        EXPECT_TRUE(names.insert(ci::name_of(static_cast<IB_WC_STATUS>(status))).second) << status;
    EXPECT_FALSE(names.contains("?"));
    EXPECT_EQ(ci::name_of(IB_WC_RETRY_EXCEEDED), "RETRY_EXCEEDED");
}

TEST(CapabilityNames, CaCapabilityBits_EachHasUniqueName) {
    std::set<std::string_view> names;
    for (unsigned bit = 0; bit < 32; ++bit) {
        const auto of_bit = ci::ca_capabilities(1u << bit);
        ASSERT_EQ(of_bit.size(), 1u) << bit;
        EXPECT_TRUE(names.insert(of_bit[0]).second) << of_bit[0];
    }
}

} // namespace
