// Structures that another process receives have no bytes of this memory between their members.
#include <crossing/padding.hpp>

#include <gtest/gtest.h>

#include <array>

namespace {

using namespace irpverbs::ci;

#if defined(__GNUC__) && !defined(__clang__)

template <class Structure>
class Padding : public ::testing::Test {};

using structures = ::testing::Types<IB_CA_ATTR, IB_PORT_ATTR, IB_CQ_ATTR, IB_WC, ib_mr_attr_t,
                                    ib_mw_attr_t, IB_AV, ib_av_query_t, ib_qp_attr_t, ib_srq_attr_t,
                                    IB_MCAST, IB_MAD_AGENT, IB_MAD_RECEIVE>;
TYPED_TEST_SUITE(Padding, structures);

TYPED_TEST(Padding, Gaps_AreThoseThatTheCompilerKnows) {
    alignas(TypeParam) std::array<unsigned char, sizeof(TypeParam)> ours;
    ours.fill(0xFF);
    alignas(TypeParam) std::array<unsigned char, sizeof(TypeParam)> compilers = ours;
    crossing::clear_gaps<TypeParam>(ours.data(), ours.size());
    __builtin_clear_padding(reinterpret_cast<TypeParam*>(compilers.data()));
    EXPECT_EQ(ours, compilers);
}

#endif

TEST(PaddingOfAPart, GapBehindTheEnd_IsNotWritten) {
    std::array<unsigned char, 16> part;
    part.fill(0xFF);
    crossing::clear_gaps<ib_av_query_t>(part.data(), 7);
    EXPECT_EQ(part[4], 0xFF);
    crossing::clear_gaps<ib_av_query_t>(part.data(), 16);
    EXPECT_EQ(part[4], 0);
}

} // namespace
