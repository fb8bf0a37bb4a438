// Attributes as libibverbs reports them, and the attributes that can be changed.
#include "verbs_hcas.hpp"

#include "async_events.hpp"

#include <cerrno>
#include <map>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using call = fake_verbs;

class VerbsQuery : public BothMachines {
protected:
    static NTSTATUS describe(IB_CA* ca, const char* text) {
        IB_MODIFY_CA modify{};
        std::string(text).copy(reinterpret_cast<char*>(modify.NodeDescription),
                               IB_NODE_DESCRIPTION_SIZE);
        return status_of(
            [&](IRP* irp) { return CiModifyCa(ca, IB_MODIFY_CA_NODE_DESCRIPTION, &modify, irp); });
    }
    static NTSTATUS modify(IB_CA* ca, ULONG set, ULONG clear,
                           ULONG flags = IB_MODIFY_PORT_CAPABILITIES) {
        const IB_MODIFY_PORT what{set, clear, 0};
        return status_of([&](IRP* irp) { return CiModifyPort(ca, 1, flags, &what, irp); });
    }
    ibv_port_attr& port() { return kernel.verbs.at("rxe0").ports[0].attr; }

    verbs_kernel kernel;
};

TEST_P(VerbsQuery, QueryPort_ReturnsLibibverbsAttributes) {
    port().lid = 7;
    port().sm_lid = 8;
    port().sm_sl = 3;
    port().lmc = 2;
    port().subnet_timeout = 18;
    port().port_cap_flags2 = 6;
    port().bad_pkey_cntr = 0x20000;
    port().qkey_viol_cntr = 5;
    port().max_vl_num = 4;
    port().init_type_reply = 1;
    port().active_width = IB_LINK_WIDTH_4X;
    port().active_speed = 64;
    port().link_layer = IBV_LINK_LAYER_INFINIBAND;
    port().flags = IBV_QPF_GRH_REQUIRED;
    const open_verbs hca;
    const port_block seen(hca.ca, 1);
    EXPECT_EQ(seen->State, IB_PORT_ACTIVE);
    EXPECT_EQ(seen->PhysicalState, IB_PORT_PHYS_LINK_UP);
    EXPECT_EQ(seen->Lid, 7);
    EXPECT_EQ(seen->SmLid, 8);
    EXPECT_EQ(seen->SmSl, 3);
    EXPECT_EQ(seen->Lmc, 2);
    EXPECT_EQ(seen->SubnetTimeout, 18);
    EXPECT_EQ(seen->MaxMtu, IB_MTU_4096);
    EXPECT_EQ(seen->ActiveMtu, IB_MTU_1024);
    EXPECT_EQ(seen->CapabilityMask, IB_PORT_CAP_CM_SUP);
    EXPECT_EQ(seen->CapabilityMask2, 6u);
    EXPECT_EQ(seen->MaxMessageSize, 0x800000u);
    EXPECT_EQ(seen->PKeyViolations, 0xFFFF);
    EXPECT_EQ(seen->QKeyViolations, 5);
    EXPECT_EQ(seen->MaxVls, 8);
    EXPECT_EQ(seen->InitTypeReply, 1);
    EXPECT_EQ(seen->ActiveWidth, IB_LINK_WIDTH_4X);
    EXPECT_EQ(seen->ActiveSpeed, IB_LINK_SPEED_HDR);
    EXPECT_EQ(seen->LinkLayer, IB_LINK_LAYER_INFINIBAND);
    EXPECT_EQ(seen->Flags, IB_PORT_GRH_REQUIRED);
    EXPECT_EQ(seen->PortGuid, 0x3001u);
}

TEST_P(VerbsQuery, ActiveSpeed_MappedToPortInfoSpeed) {
    const open_verbs hca;
    for (const auto& [reported, speed] : {std::pair{1, IB_LINK_SPEED_SDR},
                                          {2, IB_LINK_SPEED_DDR},
                                          {4, IB_LINK_SPEED_QDR},
                                          {8, IB_LINK_SPEED_FDR10},
                                          {16, IB_LINK_SPEED_FDR},
                                          {32, IB_LINK_SPEED_EDR},
                                          {64, IB_LINK_SPEED_HDR},
                                          {128, IB_LINK_SPEED_NDR}}) {
        port().active_speed = static_cast<std::uint8_t>(reported);
        EXPECT_EQ(port_block(hca.ca, 1)->ActiveSpeed, speed);
    }
}

// An empty entry keeps its place, since other entries are addressed by index.
TEST_P(VerbsQuery, EmptyGidEntry_KeepsIndexes) {
    kernel.verbs.at("rxe0").ports[0].gids.insert(kernel.verbs.at("rxe0").ports[0].gids.begin() + 1,
                                                 ibv_gid{});
    const open_verbs hca;
    const port_block seen(hca.ca, 1);
    ASSERT_EQ(seen->GidCount, 4);
    EXPECT_EQ(IbPortGid(&*seen, 0)->gid_prefix, IB_DEFAULT_GID_PREFIX);
    EXPECT_EQ(IbPortGid(&*seen, 0)->gid_guid, 0x3001u);
    EXPECT_EQ(IbPortGid(&*seen, 1)->gid_guid, 0u);
    EXPECT_EQ(IbPortGid(&*seen, 2)->gid_guid, 0xFFFF'0A4D'0001u);
    EXPECT_EQ(IbPortGid(&*seen, 3)->gid_guid, 0u);
    ASSERT_EQ(seen->PKeyCount, 1);
    EXPECT_EQ(IbPortPKey(&*seen, 0), 0xFFFF);
}

// siw has no P_Key, whatever the length of its table, and no LID.
TEST_P(VerbsQuery, IwarpPort_HasNoPKeyAndNoLid) {
    kernel.verbs.at("rxe0").transport_type = IBV_TRANSPORT_IWARP;
    kernel.verbs.at("rxe0").ports[0].pkeys.clear();
    port().link_layer = IBV_LINK_LAYER_UNSPECIFIED;
    const open_verbs hca;
    const port_block seen(hca.ca, 1);
    EXPECT_EQ(IbPortPKey(&*seen, 0), 0);
    EXPECT_EQ(seen->LinkLayer, IB_LINK_LAYER_ETHERNET);
    EXPECT_EQ(seen->Lid, 0);
}

TEST_P(VerbsQuery, SeveralPorts_HaveSeparateTables) {
    kernel.verbs.add("rxe0", kernel.guid, 2);
    const open_verbs hca;
    EXPECT_EQ(port_block(hca.ca, 2)->PortNumber, 2);
    EXPECT_EQ(IbPortGid(&*port_block(hca.ca, 2), 0)->gid_guid, 0x3002u);
}

// Tables that do not fit the buffer are not queried: they cost more than everything else.
TEST_P(VerbsQuery, SmallBuffer_TablesAreNotQueried) {
    const open_verbs hca;
    IB_PORT_ATTR attr{};
    EXPECT_EQ(status_of(querying(hca.ca, attr)), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(attr.Size, port_block(hca.ca, 1)->Size);
    EXPECT_EQ(kernel.verbs.calls(call::query_gid_table), 1u);
}

TEST_P(VerbsQuery, QueryCa_ReturnsLibibverbsAttributes) {
    ibv_device_attr& reported = kernel.verbs.at("rxe0").attr.orig_attr;
    std::string("16.35.2000").copy(reported.fw_ver, sizeof(reported.fw_ver));
    reported.vendor_id = 0x2C9;
    reported.vendor_part_id = 4119;
    reported.hw_ver = 0xA1;
    reported.device_cap_flags =
        IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_UD_IP_CSUM;
    reported.max_qp = 1000;
    reported.max_sge = 32;
    reported.max_mcast_grp = 64;
    reported.max_mr_size = 1ull << 40;
    reported.page_size_cap = 0xFFFFF000;
    reported.atomic_cap = IBV_ATOMIC_HCA;
    reported.local_ca_ack_delay = 15;
    kernel.files["/sys/class/infiniband/rxe0/node_desc"] = "host rxe0";
    const open_verbs hca;
    alignas(IB_CA_ATTR) std::array<UCHAR, 4096> block{};
    auto* attr = reinterpret_cast<IB_CA_ATTR*>(block.data());
    EXPECT_EQ(status_of([&](IRP* irp) { return CiQueryCa(hca.ca, block.size(), attr, irp); }),
              STATUS_SUCCESS);
    EXPECT_EQ(attr->NodeGuid, kernel.guid);
    EXPECT_EQ(attr->SystemImageGuid, kernel.guid + 0x100);
    EXPECT_EQ(attr->FirmwareVersion, (16ull << 32) + (35u << 16) + 2000);
    EXPECT_EQ(attr->VendorId, 0x2C9u);
    EXPECT_EQ(attr->VendorPartId, 4119u);
    EXPECT_EQ(attr->HardwareVersion, 0xA1u);
    EXPECT_EQ(attr->Capabilities,
              IB_CA_CAP_SYSTEM_IMAGE_GUID | IB_CA_CAP_MEMORY_WINDOWS | IB_CA_CAP_UD_MULTICAST);
    EXPECT_EQ(attr->MaxMulticastGroups, 64u);
    EXPECT_EQ(attr->MaxCompletionHandlers, 2u);
    EXPECT_EQ(attr->MaxQps, 1000u);
    EXPECT_EQ(attr->MaxSges, 32u);
    EXPECT_EQ(attr->MaxCqes, 32767u);
    EXPECT_EQ(attr->MaxMrSize, 1ull << 40);
    EXPECT_EQ(attr->PageSizes, 0xFFFFF000u);
    EXPECT_EQ(attr->Atomicity, IB_ATOMIC_HCA);
    EXPECT_EQ(attr->LocalAckDelay, 15);
    EXPECT_EQ(attr->Transport, ULONG{IB_TRANSPORT_INFINIBAND});
    EXPECT_STREQ(reinterpret_cast<const char*>(attr->NodeDescription), "host rxe0");
    ASSERT_EQ(attr->PortCount, 1u);
    EXPECT_EQ(IbPortGid(IbCaPort(attr, 1), 0)->gid_guid, 0x3001u);
}

TEST_P(VerbsQuery, QueryCa_ReturnsExtendedAttributes) {
    ibv_device_attr_ex& reported = kernel.verbs.at("rxe0").attr;
    reported.device_cap_flags_ex = 1ull << 41 | IB_CA_FLAG_ATOMIC_WRITE;
    reported.orig_attr.device_cap_flags = IBV_DEVICE_UD_IP_CSUM;
    reported.completion_timestamp_mask = 0xFFFF;
    reported.hca_core_clock = 156250;
    reported.max_dm_size = 65536;
    reported.odp_caps.general_caps = IBV_ODP_SUPPORT;
    reported.odp_caps.per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_READ;
    reported.tso_caps.max_tso = 262144;
    reported.rss_caps.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4;
    reported.max_wq_type_rq = 9;
    reported.packet_pacing_caps.qp_rate_limit_max = 100;
    reported.tm_caps.max_num_tags = 127;
    reported.cq_mod_caps.max_cq_count = 5;
    reported.pci_atomic_caps.swap = 8;
    const open_verbs hca;
    IB_CA_ATTR attr{};
    EXPECT_EQ(status_of([&](IRP* irp) { return CiQueryCa(hca.ca, sizeof(attr), &attr, irp); }),
              STATUS_BUFFER_OVERFLOW);
    const IB_CA_EXTENDED_ATTR& seen = attr.Extended;
    EXPECT_EQ(seen.Flags, (1ull << 41) | IBV_DEVICE_UD_IP_CSUM);
    EXPECT_EQ(seen.TimestampMask, 0xFFFFu);
    EXPECT_EQ(seen.TimestampFrequency, 156250u);
    EXPECT_EQ(seen.MaxDeviceMemory, 65536u);
    EXPECT_EQ(seen.OnDemandPaging, ULONGLONG{IBV_ODP_SUPPORT});
    EXPECT_EQ(seen.OnDemandRc, ULONG{IBV_ODP_SUPPORT_READ});
    EXPECT_EQ(seen.MaxSegmentation, 262144u);
    EXPECT_EQ(seen.HashFields, ULONGLONG{IBV_RX_HASH_SRC_IPV4});
    EXPECT_EQ(seen.MaxReceiveWqs, 9u);
    EXPECT_EQ(seen.MaxPacingRate, 100u);
    EXPECT_EQ(seen.MaxTags, 127u);
    EXPECT_EQ(seen.MaxModerationCount, 5);
    EXPECT_EQ(seen.PciSwap, 8);
    EXPECT_EQ(attr.Capabilities & IB_CA_CAP_UD_MULTICAST, 0u);
}

TEST_P(VerbsQuery, ModifyNodeDescription_WritesSysfs) {
    const open_verbs hca;
    EXPECT_EQ(describe(hca.ca, "renamed"), STATUS_SUCCESS);
    EXPECT_EQ(kernel.files["/sys/class/infiniband/rxe0/node_desc"], "renamed");
    for (const auto& [error, status] : {std::pair{EACCES, STATUS_ACCESS_DENIED},
                                        {EOPNOTSUPP, STATUS_NOT_SUPPORTED},
                                        {ENOSYS, STATUS_NOT_SUPPORTED}}) {
        kernel.write_error = error;
        EXPECT_EQ(describe(hca.ca, "again"), status);
    }
    const IB_MODIFY_CA other{};
    EXPECT_EQ(status_of([&](IRP* irp) {
                  return CiModifyCa(hca.ca, IB_MODIFY_CA_SYSTEM_IMAGE_GUID, &other, irp);
              }),
              STATUS_NOT_SUPPORTED);
}

// The kernel lets programs change this one attribute of a port.
TEST_P(VerbsQuery, IsSmCapability_HeldUntilClearedOrClosed) {
    const open_verbs hca;
    IB_CA* other = open_ca(rdma_hcas::fdo(kernel.guid));
    const auto is_sm = [&] { return (port_block(hca.ca, 1)->CapabilityMask & IB_PORT_CAP_IS_SM); };
    EXPECT_EQ(modify(hca.ca, IB_PORT_CAP_IS_SM, 0), STATUS_SUCCESS);
    EXPECT_EQ(modify(hca.ca, IB_PORT_CAP_IS_SM, 0), STATUS_SUCCESS);
    EXPECT_NE(is_sm(), 0u);
    EXPECT_EQ(modify(other, IB_PORT_CAP_IS_SM, 0), STATUS_FILE_LOCK_CONFLICT);
    EXPECT_EQ(modify(other, 0, IB_PORT_CAP_IS_SM), STATUS_FILE_LOCK_CONFLICT);
    EXPECT_EQ(modify(hca.ca, 0, IB_PORT_CAP_IS_SM), STATUS_SUCCESS);
    EXPECT_EQ(is_sm(), 0u);
    EXPECT_EQ(modify(other, 0, IB_PORT_CAP_IS_SM), STATUS_SUCCESS);
    EXPECT_EQ(modify(other, IB_PORT_CAP_IS_SM, 0), STATUS_SUCCESS);
    EXPECT_NE(is_sm(), 0u);
    EXPECT_EQ(close_ca(other), STATUS_SUCCESS);
    EXPECT_EQ(is_sm(), 0u);
}

TEST_P(VerbsQuery, ModifyOfFixedAttribute_IsNotSupported) {
    const open_verbs hca;
    EXPECT_EQ(modify(hca.ca, IB_PORT_CAP_CM_SUP, 0), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(modify(hca.ca, IB_PORT_CAP_IS_SM | IB_PORT_CAP_CM_SUP, 0), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(modify(hca.ca, 0, 0, IB_MODIFY_PORT_SHUTDOWN), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(modify(hca.ca, 0, 0, 0), STATUS_SUCCESS);
    kernel.has_umad = false; // a kernel of 6.12 has no such file for Ethernet
    EXPECT_EQ(modify(hca.ca, IB_PORT_CAP_IS_SM, 0), STATUS_NOT_SUPPORTED);
}

IRPVERBS_ON_BOTH_MACHINES(VerbsQuery);

TEST(VerbsEventTypes, EveryVerbsEventType_IsMapped) {
    const std::map<int, int> ours{{IBV_EVENT_CQ_ERR, IB_AE_CQ_ERROR},
                                  {IBV_EVENT_QP_FATAL, IB_AE_WQ_FATAL},
                                  {IBV_EVENT_QP_REQ_ERR, IB_AE_WQ_REQUEST_ERROR},
                                  {IBV_EVENT_QP_ACCESS_ERR, IB_AE_WQ_ACCESS_ERROR},
                                  {IBV_EVENT_COMM_EST, IB_AE_COMMUNICATION_ESTABLISHED},
                                  {IBV_EVENT_SQ_DRAINED, IB_AE_SQ_DRAINED},
                                  {IBV_EVENT_PATH_MIG, IB_AE_PATH_MIGRATED},
                                  {IBV_EVENT_PATH_MIG_ERR, IB_AE_PATH_MIGRATION_ERROR},
                                  {IBV_EVENT_DEVICE_FATAL, IB_AE_LOCAL_FATAL},
                                  {IBV_EVENT_PORT_ACTIVE, IB_AE_PORT_ACTIVE},
                                  {IBV_EVENT_PORT_ERR, IB_AE_PORT_ERROR},
                                  {IBV_EVENT_LID_CHANGE, IB_AE_LID_CHANGE},
                                  {IBV_EVENT_PKEY_CHANGE, IB_AE_PKEY_CHANGE},
                                  {IBV_EVENT_SM_CHANGE, IB_AE_SM_CHANGE},
                                  {IBV_EVENT_SRQ_ERR, IB_AE_SRQ_FATAL},
                                  {IBV_EVENT_SRQ_LIMIT_REACHED, IB_AE_SRQ_LIMIT_REACHED},
                                  {IBV_EVENT_QP_LAST_WQE_REACHED, IB_AE_LAST_WQE_REACHED},
                                  {IBV_EVENT_CLIENT_REREGISTER, IB_AE_CLIENT_REREGISTER},
                                  {IBV_EVENT_GID_CHANGE, IB_AE_GID_CHANGE},
                                  {IBV_EVENT_WQ_FATAL, IB_AE_RECEIVE_WQ_FATAL}};
    EXPECT_EQ(ours.size(), std::size_t{IBV_EVENT_WQ_FATAL} + 1); // the last of them
    for (const auto& [type, event] : ours)
        EXPECT_EQ(hca_rdma::event_of(static_cast<ibv_event_type>(type)), event) << type;
    EXPECT_EQ(hca_rdma::event_of(static_cast<ibv_event_type>(31)), IB_AE_NONE);
}

} // namespace
