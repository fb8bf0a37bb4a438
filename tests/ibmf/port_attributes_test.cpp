// Attributes of a port with numbers that only a faulty driver, or a large table, has.
#include <engine/port_attributes.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace {

using irpverbs::ibmf::port_attributes;

/// A port with more GIDs than an address can index.
struct large_port {
    IB_PORT_ATTR attr{};
    std::array<ib_gid_t, 300> gids{};
    std::array<ib_pkey_t, 4> pkeys{IB_PKEY_DEFAULT_FULL};

    large_port() {
        attr.State = IB_PORT_ACTIVE;
        attr.GidCount = static_cast<USHORT>(gids.size());
        attr.GidOffset = offsetof(large_port, gids);
        attr.PKeyCount = 1;
        attr.PKeyOffset = offsetof(large_port, pkeys);
        for (std::size_t i = 0; i < gids.size(); ++i)
            gids[i] = {IB_DEFAULT_GID_PREFIX, i + 1};
    }
};

TEST(PortAttributes, GidBehindIndex255_IsNotASource) {
    const large_port block;
    port_attributes port;
    port.set(block.attr);
    ibmf_msg_t message{};
    message.im_local_addr.ia_p_key = IB_PKEY_DEFAULT_FULL;
    message.im_msg_flags = IBMF_MSG_FLAGS_GLOBAL_ADDRESS;
    message.im_global_addr.ig_recver_gid = {IB_DEFAULT_GID_PREFIX, 0x1000};
    for (const auto& [index, expected] :
         {std::pair{255u, 255u}, std::pair{256u, 0u}, std::pair{299u, 0u}}) {
        message.im_global_addr.ig_sender_gid = block.gids[index];
        const auto to = port.address_to(message, MAD_MGMT_CLASS_PERF);
        ASSERT_TRUE(to);
        EXPECT_EQ(to->GidIndex, expected) << index;
    }
}

TEST(PortAttributes, MtuAndLmcOutOfRange_AreLimited) {
    large_port block;
    block.attr.ActiveMtu = block.attr.Lmc = 255;
    block.attr.Lid = 0x80;
    port_attributes port;
    port.set(block.attr);
    EXPECT_EQ(port.mtu(), 4096u);
    ibmf_msg_t message{};
    message.im_local_addr.ia_p_key = IB_PKEY_DEFAULT_FULL;
    message.im_local_addr.ia_local_lid = 0x80 + 200;
    EXPECT_EQ(port.address_to(message, MAD_MGMT_CLASS_PERF)->PathBits, 200 & 0x7F);
}

} // namespace
