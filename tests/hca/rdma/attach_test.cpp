// The HCAs that "rdma:" finds, its messages when it fails, and the attributes of a device.
#include "rdma_hcas.hpp"
#include "sysfs_text.hpp"

#include <support/both_machines.hpp>

#include <cerrno>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using ::testing::Test;

class RdmaAttach : public BothMachines {
protected:
    fake_umad kernel;
};

TEST_P(RdmaAttach, SeveralDevices_EachIsAttachedAsHca) {
    kernel.cas["fake1"].guid = 0x2000;
    kernel.cas["fake1"].ports.resize(2);
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.status, STATUS_SUCCESS);
    EXPECT_EQ(hcas.count(), 2u);
    char name[8] = "";
    EXPECT_EQ(HcaName(0x2000, name, sizeof(name)), STATUS_SUCCESS);
    EXPECT_STREQ(name, "fake1");
    IB_CA* ca = open_ca(rdma_hcas::fdo(0x2000));
    EXPECT_EQ(port_block(ca, 2)->PortNumber, 2);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// libibumad leaves a null pointer for the port between.
TEST_P(RdmaAttach, PortNotListedBetweenOthers_EndsThePorts) {
    kernel.cas["fake0"].ports.resize(3);
    kernel.cas["fake0"].unlisted_port = 2;
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.status, STATUS_SUCCESS);
    IB_CA* ca = open_ca(rdma_hcas::fdo());
    EXPECT_EQ(port_block(ca, 1)->PortNumber, 1);
    IB_PORT_ATTR attr{};
    EXPECT_EQ(
        verb_call([&](IRP* irp) { return CiQueryPort(ca, 2, sizeof(attr), &attr, irp); }).status(),
        STATUS_INVALID_PARAMETER);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(RdmaAttach, FirstPortNotListed_IsRefused) {
    kernel.cas["fake0"].ports.resize(2);
    kernel.cas["fake0"].unlisted_port = 1;
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.status, STATUS_NO_SUCH_DEVICE);
}

TEST_P(RdmaAttach, NamedDevice_AttachedAlone) {
    kernel.cas["fake1"].guid = 0x2000;
    const rdma_hcas hcas("fake1");
    EXPECT_EQ(hcas.count(), 1u);
    EXPECT_EQ(rdma_hcas::fdo(0x1000), nullptr);
    EXPECT_NE(rdma_hcas::fdo(0x2000), nullptr);
}

TEST_P(RdmaAttach, NoDevice_FailsWithMessage) {
    kernel.cas.clear();
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.status, STATUS_NO_SUCH_DEVICE);
    EXPECT_EQ(hcas.problem,
              "no InfiniBand device: /sys/class/infiniband has none (no driver of one is loaded)");
}

TEST_P(RdmaAttach, UnknownName_MessageListsDevices) {
    kernel.cas["fake1"].guid = 0x2000;
    const rdma_hcas hcas("mlx5_0");
    EXPECT_EQ(hcas.status, STATUS_NO_SUCH_DEVICE);
    EXPECT_EQ(hcas.problem, "no InfiniBand device 'mlx5_0': there is fake0, fake1");
}

TEST_P(RdmaAttach, UmadFileNotAccessible_MessageNamesFile) {
    kernel.open_error = EACCES;
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.status, STATUS_ACCESS_DENIED);
    EXPECT_EQ(hcas.problem, "/dev/infiniband/umad0: Permission denied: it must be readable and "
                            "writable (by root, or by a udev rule)");
}

TEST_P(RdmaAttach, DuplicateGuid_AttachesNothing) {
    kernel.cas["fake1"].guid = 0x1000;
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.status, STATUS_OBJECT_NAME_COLLISION);
    EXPECT_EQ(hcas.problem.substr(0, 7), "fake1: ");
    EXPECT_EQ(rdma_hcas::fdo(), nullptr);
}

TEST_P(RdmaAttach, OpenHca_RefuseOpensReturnsBusy) {
    kernel.cas["fake1"].guid = 0x2000;
    const rdma_hcas hcas;
    IB_CA* ca = open_ca(rdma_hcas::fdo(0x2000));
    EXPECT_EQ(hcas.refuse_opens(), STATUS_DEVICE_BUSY);
    EXPECT_EQ(close_ca(open_ca(rdma_hcas::fdo(0x1000))), STATUS_SUCCESS); // unchanged
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(RdmaAttach, QueryPort_ReturnsLibibumadAttributes) {
    kernel.files["/sys/class/infiniband/fake0/ports/1/rate"] = "100 Gb/sec (4X EDR)";
    const open_rdma hca;
    const port_block port(hca.ca, 1);
    EXPECT_EQ(port->State, IB_PORT_ACTIVE);
    EXPECT_EQ(port->PhysicalState, IB_PORT_PHYS_LINK_UP);
    EXPECT_EQ(port->PortGuid, 0x1001u);
    EXPECT_EQ(port->Lid, 5);
    EXPECT_EQ(port->Lmc, 2);
    EXPECT_EQ(port->SmLid, 1);
    EXPECT_EQ(port->SmSl, 3);
    EXPECT_EQ(port->CapabilityMask, IB_PORT_CAP_TRAP_SUP);
    EXPECT_EQ(port->ActiveWidth, IB_LINK_WIDTH_4X);
    EXPECT_EQ(port->ActiveSpeed, IB_LINK_SPEED_EDR);
    EXPECT_EQ(port->LinkLayer, IB_LINK_LAYER_INFINIBAND);
    ASSERT_EQ(port->PKeyCount, 2);
    EXPECT_EQ(IbPortPKey(&*port, 1), 0x8001);
    ASSERT_EQ(port->GidCount, 2);
    EXPECT_EQ(IbPortGid(&*port, 1)->gid_prefix, 0xFE80000000000001u);
    EXPECT_EQ(IbPortGid(&*port, 1)->gid_guid, 0x1001u);
}

TEST_P(RdmaAttach, QueryCa_ReturnsLibibumadAttributes) {
    kernel.files["/sys/class/infiniband/fake0/node_desc"] = "host HCA-1";
    const open_rdma hca;
    alignas(IB_CA_ATTR) std::array<UCHAR, 4096> block{};
    auto* attr = reinterpret_cast<IB_CA_ATTR*>(block.data());
    EXPECT_EQ(
        verb_call([&](IRP* irp) { return CiQueryCa(hca.ca, block.size(), attr, irp); }).status(),
        STATUS_SUCCESS);
    EXPECT_EQ(attr->NodeGuid, 0x1000u);
    EXPECT_EQ(attr->SystemImageGuid, 0x1100u);
    EXPECT_EQ(attr->HardwareVersion, 0xA1u);
    EXPECT_EQ(attr->FirmwareVersion, (16ull << 32) + (35u << 16) + 2000);
    EXPECT_STREQ(reinterpret_cast<const char*>(attr->NodeDescription), "host HCA-1");
    EXPECT_EQ(attr->MaxPKeys, 2);
    ASSERT_EQ(attr->PortCount, 1u);
    EXPECT_EQ(IbCaPort(attr, 1)->Lid, 5);
    EXPECT_EQ(IbPortPKey(IbCaPort(attr, 1), 0), 0xFFFF);
}

IRPVERBS_ON_BOTH_MACHINES(RdmaAttach);

TEST(SysfsParser, Rate_ParsedAsWidthAndSpeed) {
    struct spelled {
        const char* text;
        int width;
        int speed;
    };
    for (const spelled& each : {spelled{"2.5 Gb/sec (1X)", IB_LINK_WIDTH_1X, IB_LINK_SPEED_SDR},
                                {"10 Gb/sec (4X)", IB_LINK_WIDTH_4X, IB_LINK_SPEED_SDR},
                                {"20 Gb/sec (4X DDR)", IB_LINK_WIDTH_4X, IB_LINK_SPEED_DDR},
                                {"40 Gb/sec (4X QDR)", IB_LINK_WIDTH_4X, IB_LINK_SPEED_QDR},
                                {"40 Gb/sec (4X FDR10)", IB_LINK_WIDTH_4X, IB_LINK_SPEED_FDR10},
                                {"56 Gb/sec (4X FDR)", IB_LINK_WIDTH_4X, IB_LINK_SPEED_FDR},
                                {"300 Gb/sec (12X EDR)", IB_LINK_WIDTH_12X, IB_LINK_SPEED_EDR},
                                {"100 Gb/sec (2X HDR)", IB_LINK_WIDTH_2X, IB_LINK_SPEED_HDR},
                                {"400 Gb/sec (4X NDR)", IB_LINK_WIDTH_4X, IB_LINK_SPEED_NDR},
                                {"", 0, 0},
                                {"nonsense (X", 0, 0}}) {
        EXPECT_EQ(hca_rdma::rate(each.text).width, each.width) << each.text;
        EXPECT_EQ(hca_rdma::rate(each.text).speed, each.speed) << each.text;
    }
}

TEST(SysfsParser, MalformedText_ParsedAsZero) {
    EXPECT_EQ(hca_rdma::hexadecimal("1b3"), 0x1B3u);
    EXPECT_EQ(hca_rdma::hexadecimal("0x1b3"), 0x1B3u);
    EXPECT_EQ(hca_rdma::hexadecimal("rev"), 0u);
    EXPECT_EQ(hca_rdma::firmware_version(""), 0u);
    EXPECT_EQ(hca_rdma::firmware_version("7"), 7ull << 32);
    EXPECT_EQ(hca_rdma::gid("").gid_prefix, 0u);
    EXPECT_EQ(hca_rdma::gid("fe80:0000").gid_prefix, 0xFE80000000000000u);
}

} // namespace
