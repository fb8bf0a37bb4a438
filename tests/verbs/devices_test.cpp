// The device list, and queries of devices and ports.
#include "ends.hpp"

#include <cerrno>
#include <endian.h>
#include <set>
#include <string>

// The function; the header has a macro of that name.
#undef ibv_query_port

namespace {

using namespace irpverbs::testing;

using context_owner = owned<ibv_context>;

TEST(Devices, List_HasTheHostsHcasUnderTheirNames) {
    const context_owner opened(open_device(0), ibv_close_device);
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ASSERT_EQ(count, 2);
    EXPECT_STREQ(ibv_get_device_name(list[0]), "irpverbs0");
    EXPECT_STREQ(list[1]->dev_name, "uverbs1");
    EXPECT_EQ(ibv_get_device_index(list[1]), 1);
    EXPECT_EQ(be64toh(ibv_get_device_guid(list[1])), 0x0200000000000200u);
    EXPECT_EQ(list[2], nullptr);
    EXPECT_EQ(opened->device, list[0]) << "a device keeps its place";
    ibv_free_device_list(list);
}

// The providers' libraries compare this pointer with those of their own devices.
TEST(Devices, PointerBehindADevice_IsNull) {
    const context_owner opened(open_device(0), ibv_close_device);
    void* behind = opened->device;
    std::memcpy(&behind, opened->device + 1, sizeof(behind));
    EXPECT_EQ(behind, nullptr);
}

TEST(Devices, Query_ReturnsTheHcasLimits) {
    const context_owner opened(open_device(1), ibv_close_device);
    ibv_device_attr attr{};
    ASSERT_EQ(ibv_query_device(opened, &attr), 0);
    EXPECT_EQ(be64toh(attr.node_guid), 0x0200000000000200u);
    EXPECT_EQ(attr.vendor_id, 0x020000u);
    EXPECT_EQ(attr.phys_port_cnt, 1);
    EXPECT_EQ(attr.atomic_cap, IBV_ATOMIC_GLOB);
    EXPECT_STREQ(attr.fw_ver, "0.0.0");
    EXPECT_NE(attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE, 0u);
    ibv_device_attr_ex extended{};
    ASSERT_EQ(ibv_query_device_ex(opened, nullptr, &extended), 0);
    EXPECT_EQ(extended.orig_attr.max_qp, attr.max_qp);
    EXPECT_EQ(extended.phys_port_cnt_ex, 1u);
}

TEST(Devices, Port_ReturnsStateAndTables) {
    const context_owner opened(open_device(0), ibv_close_device);
    ibv_port_attr attr{};
    ASSERT_EQ(___ibv_query_port(opened, 2, &attr), 0);
    EXPECT_EQ(attr.state, IBV_PORT_ACTIVE);
    EXPECT_EQ(attr.lid, 2);
    EXPECT_EQ(attr.max_vl_num, 4) << "VL0 to VL7";
    EXPECT_EQ(attr.active_speed, 4) << "QDR";
    EXPECT_EQ(attr.link_layer, IBV_LINK_LAYER_INFINIBAND);
    EXPECT_EQ(___ibv_query_port(opened, 3, &attr), EINVAL);
    EXPECT_EQ(___ibv_query_port(opened, 0, &attr), EINVAL);
}

// Programs that were compiled before port_cap_flags2 existed pass a structure that ends there.
TEST(Devices, PortByTheEarlierFunction_LeavesTheLaterMembers) {
    const context_owner opened(open_device(0), ibv_close_device);
    ibv_port_attr attr{};
    attr.port_cap_flags2 = 0x5A5A;
    ASSERT_EQ(ibv_query_port(opened, 1, reinterpret_cast<_compat_ibv_port_attr*>(&attr)), 0);
    EXPECT_EQ(attr.lid, 1);
    EXPECT_EQ(attr.port_cap_flags2, 0x5A5A);
}

TEST(Devices, GidsAndPKeys_AreInNetworkOrderAndBounded) {
    const context_owner opened(open_device(0), ibv_close_device);
    ibv_gid gid{};
    ASSERT_EQ(ibv_query_gid(opened, 1, 0, &gid), 0);
    EXPECT_EQ(be64toh(gid.global.subnet_prefix), 0xFE80000000000000u);
    EXPECT_EQ(be64toh(gid.global.interface_id), 0x0200000000000101u);
    EXPECT_EQ(ibv_query_gid(opened, 1, 1, &gid), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_query_gid(opened, 1, -1, &gid), -1);
    __be16 pkey = 0;
    ASSERT_EQ(ibv_query_pkey(opened, 1, 0, &pkey), 0);
    EXPECT_EQ(pkey, htobe16(0xFFFF));
    EXPECT_EQ(ibv_get_pkey_index(opened, 1, htobe16(0xFFFF)), 0);
    EXPECT_EQ(ibv_get_pkey_index(opened, 1, htobe16(0x1234)), -1);
    EXPECT_EQ(ibv_query_pkey(opened, 1, 999, &pkey), -1);
}

TEST(Devices, GidTable_HasTheEntriesOfAllPorts) {
    const context_owner opened(open_device(0), ibv_close_device);
    std::array<ibv_gid_entry, 8> entries{};
    ASSERT_EQ(ibv_query_gid_table(opened, entries.data(), entries.size(), 0), 2);
    EXPECT_EQ(entries[1].port_num, 2u);
    EXPECT_EQ(entries[1].gid_type, unsigned{IBV_GID_TYPE_IB});
    EXPECT_EQ(ibv_query_gid_table(opened, entries.data(), 1, 0), -EINVAL) << "too small";
    ibv_gid_entry one{};
    EXPECT_EQ(ibv_query_gid_ex(opened, 1, 0, &one, 0), 0);
    EXPECT_EQ(be64toh(one.gid.global.interface_id), 0x0200000000000101u);
    EXPECT_EQ(ibv_query_gid_ex(opened, 1, 1, &one, 0), ENODATA);
    EXPECT_EQ(ibv_query_gid_ex(opened, 9, 0, &one, 0), EINVAL);
}

TEST(Devices, Context_IsTheExtendedOne) {
    const context_owner opened(open_device(0), ibv_close_device);
    EXPECT_EQ(opened->abi_compat, __VERBS_ABI_IS_EXTENDED);
    EXPECT_GE(opened->async_fd, 0);
    EXPECT_GE(opened->cmd_fd, 0);
    EXPECT_EQ(verbs_get_ctx(opened)->sz, sizeof(verbs_context));
}

} // namespace
