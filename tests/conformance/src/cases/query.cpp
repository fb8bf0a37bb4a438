// Attributes: CiQueryCa, CiQueryPort, CiQueryCq, and their size protocol.
#include "world.hpp"

#include <algorithm>
#include <cstring>

namespace irpverbs::conformance {

namespace query_group {
namespace {

constexpr UCHAR untouched = 0xEE;

// Checks a query with a buffer of that size, and some bytes behind the buffer.
template <class Query>
void expect_size_protocol_of(ULONG size, const Query& query, const block& all) {
    const ULONG needed = all.as<ULONG>();
    const ULONG written = size < 4 ? 0 : std::min(size, needed);
    std::vector<UCHAR> buffer(size + 8u, untouched);
    verb_call asked(query(buffer.data(), size));
    ASSERT_STREQ(name_of(asked.status()), name_of(size < 4        ? STATUS_BUFFER_TOO_SMALL
                                                  : size < needed ? STATUS_BUFFER_OVERFLOW
                                                                  : STATUS_SUCCESS));
    ASSERT_EQ(asked.information(), written);
    ASSERT_EQ(std::memcmp(buffer.data(), &all.as<UCHAR>(), written), 0);
    for (std::size_t i = written; i < buffer.size(); ++i)
        ASSERT_EQ(buffer[i], untouched) << "written beyond the returned size";
}

// The next size to try: every size, but for a large block only the sizes near its ends and steps
// between them.
ULONG size_after(ULONG size, ULONG all, std::uint64_t most_values) {
    constexpr ULONG near = 64;
    const auto step = static_cast<ULONG>(std::max<std::uint64_t>(all / most_values, 1));
    return size < near || size + step + near > all ? size + 1 : size + step;
}

// Tries sizes from 0 to more than the whole block, for the kernel and for a user.
template <class Query>
void expect_size_protocol(const world& here, const Query& query) {
    const auto by_user = [&](void* to, SIZE_T size) { return for_user(query(to, size)); };
    const block all = whole(query);
    const auto needed = all.as<ULONG>();
    for (ULONG size = 0; size <= needed + 8; size = size_after(size, needed, here.most_values())) {
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, std::to_string(size));
        expect_size_protocol_of(size, query, all);
        expect_size_protocol_of(size, by_user, all);
        if (::testing::Test::HasFailure()) return;
    }
}

void any_buffer_size_returns_size_and_status(world& here) {
    const ca opened(here);
    expect_size_protocol(here, [&](void* to, SIZE_T size) { return query_ca(opened, to, size); });
}

void query_port_any_buffer_size_returns_size_and_status(world& here) {
    const ca opened(here);
    expect_size_protocol(here,
                         [&](void* to, SIZE_T size) { return query_port(opened, 1, to, size); });
}

void query_cq_any_buffer_size_returns_size_and_status(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    expect_size_protocol(here, [&](void* to, SIZE_T size) { return query_cq(queue, to, size); });
}

// A block contains its ports and their tables, with the values that queries of the ports return.
void block_has_ports_and_their_tables(world& here) {
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

void copied_block_offsets_stay_valid(world& here) {
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

void invalid_port_number_returns_invalid_parameter(world& here) {
    const ca opened(here);
    const block known = whole_port(opened);
    for (const UCHAR port : {UCHAR{0}, port_beyond_the_last(opened), UCHAR{255}}) {
        IB_PORT_ATTR attr{};
        const IB_MODIFY_PORT modify{};
        for (const verb& each :
             {query_port(opened, port, &attr, sizeof(attr)), modify_port(opened, port, 0, &modify),
              get_port_event(opened, port)})
            EXPECT_STATUS(status_of(each), STATUS_INVALID_PARAMETER) << each.name;
    }
}

constexpr const char* small =
    "STATUS_SUCCESS: the whole block. STATUS_BUFFER_OVERFLOW: its first AttrSize bytes; "
    "pAttr->Size is the size of the whole block. STATUS_BUFFER_TOO_SMALL: AttrSize is less than 4 "
    "bytes, nothing written. Information: bytes written.";

constexpr test_case cases[] = {
    {"QueryCa.AnyBufferSize_ReturnsSizeAndStatus", small, nothing, kind::values,
     any_buffer_size_returns_size_and_status},
    {"QueryPort.AnyBufferSize_ReturnsSizeAndStatus", small, nothing, kind::values,
     query_port_any_buffer_size_returns_size_and_status},
    {"QueryCq.AnyBufferSize_ReturnsSizeAndStatus",
     "Attributes of a completion queue; sizes and statuses as CiQueryCa.", nothing, kind::values,
     query_cq_any_buffer_size_returns_size_and_status},
    {"QueryCa.Block_HasPortsAndTheirTables",
     "Attributes of the HCA, its ports and their tables, in one block.", nothing, kind::steps,
     block_has_ports_and_their_tables},
    {"QueryPort.CopiedBlock_OffsetsStayValid",
     "They count from the beginning of the structure that holds them, so that a block may be "
     "copied as it is.",
     nothing, kind::steps, copied_block_offsets_stay_valid},
    {"EveryVerb.InvalidPortNumber_ReturnsInvalidParameter",
     "STATUS_INVALID_PARAMETER for a port or flag that does not exist and for an object that is "
     "NULL",
     nothing, kind::steps, invalid_port_number_returns_invalid_parameter},
};

} // namespace
} // namespace query_group

const std::span<const test_case> query_cases = query_group::cases;

} // namespace irpverbs::conformance
