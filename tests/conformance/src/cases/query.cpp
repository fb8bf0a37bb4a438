// Attributes: CiQueryCa, CiQueryPort, CiQueryCq, and the size protocol that is theirs.
#include "world.hpp"

#include <cstring>

namespace irpverbs::conformance {

namespace {

// Sizes one by one up to the fixed part and around all; between them a few of each kind.
std::vector<ULONG> sizes_up_to(ULONG needed) {
    std::vector<ULONG> sizes;
    for (ULONG size = 0; size <= needed + 8; size += size < 300 || size + 40 > needed ? 1 : 13)
        sizes.push_back(size);
    return sizes;
}

template <class Query>
void expect_size_protocol(const Query& query) {
    const block all = whole(query);
    const ULONG needed = all.as<ULONG>();
    for (const ULONG size : sizes_up_to(needed)) {
        std::vector<UCHAR> buffer(size + 8u, 0xEE);
        verb_call asked(query(buffer.data(), size));
        const ULONG written = size < 4 ? 0 : std::min(size, needed);
        EXPECT_STATUS(asked.status(), size < 4        ? STATUS_BUFFER_TOO_SMALL
                                      : size < needed ? STATUS_BUFFER_OVERFLOW
                                                      : STATUS_SUCCESS);
        EXPECT_EQ(asked.information(), written) << "size " << size;
        EXPECT_EQ(std::memcmp(buffer.data(), &all.as<UCHAR>(), written), 0) << "size " << size;
        for (std::size_t i = written; i < buffer.size(); ++i)
            ASSERT_EQ(buffer[i], 0xEE) << "written beyond what is told, size " << size;
    }
}

void of_a_ca(world& here) {
    const ca opened(here);
    expect_size_protocol([&](void* to, SIZE_T size) { return query_ca(opened, to, size); });
}

void of_a_port(world& here) {
    const ca opened(here);
    expect_size_protocol([&](void* to, SIZE_T size) { return query_port(opened, 1, to, size); });
}

void of_a_cq(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    expect_size_protocol([&](void* to, SIZE_T size) { return query_cq(queue, to, size); });
}

// A block has its ports and their tables inside, and they are what the ports say themselves.
void holds_its_ports(world& here) {
    const ca opened(here);
    const block all = whole([&](void* to, SIZE_T size) { return query_ca(opened, to, size); });
    const auto& attr = all.as<IB_CA_ATTR>();
    EXPECT_EQ(attr.NodeGuid, here.guid());
    ASSERT_GE(attr.PortCount, 1u);
    for (ULONG number = 1; number <= attr.PortCount; ++number) {
        const block alone = whole_port(opened, static_cast<UCHAR>(number));
        const auto& port = alone.as<IB_PORT_ATTR>();
        const IB_PORT_ATTR* inside = IbCaPort(&attr, number);
        EXPECT_EQ(inside->PortNumber, number);
        EXPECT_EQ(inside->PortGuid, port.PortGuid);
        ASSERT_EQ(inside->GidCount, port.GidCount);
        ASSERT_EQ(inside->PKeyCount, port.PKeyCount);
        for (ULONG i = 0; i < port.GidCount; ++i)
            EXPECT_EQ(IbPortGid(inside, i)->gid_guid, IbPortGid(&port, i)->gid_guid);
        for (ULONG i = 0; i < port.PKeyCount; ++i)
            EXPECT_EQ(IbPortPKey(inside, i), IbPortPKey(&port, i));
    }
}

void a_block_may_be_copied(world& here) {
    const ca opened(here);
    block original = whole_port(opened);
    const block copy = original; // at another address
    original = block(0);
    const auto& port = copy.as<IB_PORT_ATTR>();
    const ULONG gids_end = port.GidOffset + port.GidCount * static_cast<ULONG>(sizeof(ib_gid_t));
    const ULONG pkeys_end =
        port.PKeyOffset + port.PKeyCount * static_cast<ULONG>(sizeof(ib_pkey_t));
    EXPECT_GE(port.GidOffset, sizeof(IB_PORT_ATTR));
    EXPECT_LE(gids_end, port.Size);
    EXPECT_LE(pkeys_end, port.Size);
}

void refuse_a_port_that_does_not_exist(world& here) {
    const ca opened(here);
    const block known = whole_port(opened);
    for (const UCHAR port : {UCHAR{0}, UCHAR{255}}) {
        IB_PORT_ATTR attr{};
        const IB_MODIFY_PORT modify{};
        for (const verb& each :
             {query_port(opened, port, &attr, sizeof(attr)), modify_port(opened, port, 0, &modify),
              get_port_event(opened, port)})
            EXPECT_STATUS(answer(each), STATUS_INVALID_PARAMETER) << each.name;
    }
}

constexpr const char* small =
    "STATUS_SUCCESS: all. STATUS_BUFFER_OVERFLOW: the beginning; pAttr->Size is the size of all. "
    "STATUS_BUFFER_TOO_SMALL: less than 4 bytes, nothing written. Information: bytes written.";

constexpr test_case cases[] = {
    {"QueryCa.EverySizeOfItsBuffer", small, nothing, kind::steps, of_a_ca},
    {"QueryPort.EverySizeOfItsBuffer", small, nothing, kind::steps, of_a_port},
    {"QueryCq.EverySizeOfItsBuffer",
     "Attributes of a completion queue; sizes and statuses as CiQueryCa.", nothing, kind::steps,
     of_a_cq},
    {"QueryCa.HoldsItsPortsAndTheirTables",
     "Attributes of the HCA, its ports and their tables, in one block.", nothing, kind::steps,
     holds_its_ports},
    {"QueryPort.GivesABlockThatMayBeCopied",
     "What follows the fixed part is found by offsets from the beginning of the structure that "
     "names them, so that a block may be copied as it is.",
     nothing, kind::steps, a_block_may_be_copied},
    {"EveryVerb.OfAPortThatDoesNotExist",
     "STATUS_INVALID_PARAMETER for a port, flag or object that does not exist", nothing,
     kind::steps, refuse_a_port_that_does_not_exist},
};

} // namespace

const std::span<const test_case> query_cases = cases;

} // namespace irpverbs::conformance
