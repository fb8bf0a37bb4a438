// An SA whose response is longer than requested, or announces more: the client's status, and the
// memory used.
#include "scripted_sa.hpp"
#include "segment.hpp"

#include <support/both_machines.hpp>

#include <malloc.h>

#include <algorithm>

namespace {

using namespace irpverbs::testing;

class SaResponseLimits : public BothMachines {};

constexpr std::size_t path_bytes = 64;
constexpr std::size_t segment_data = 200;
constexpr std::size_t bound = 100 * path_bytes;

// 0 under AddressSanitizer, which has an allocator of its own.
std::size_t in_use() {
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

sa_reply paths(std::size_t count) {
    return table_of(std::vector<sa_path_record_t>(count, sa_path_record_t{}));
}

int ask_for_paths(const session_scope& by) {
    return test_access<sa_path_record_t>(SA_PATHRECORD_ATTRID, {}, 0).ask(by);
}

int ask_for_bytes(const session_scope& by) {
    return test_access<std::array<std::uint8_t, 5>>(0xFF40, {}, 0).ask(by);
}

TEST_P(SaResponseLimits, ResponseBeyondBound_FailsAndTransferStops) {
    wire joined;
    sa_reply reply;
    std::atomic<int> sent{0};
    joined.tap = furthest_of_end_1(sent);
    scripted_sa sa([&](const sa_request&) { return reply; });
    const session_scope session;
    EXPECT_EQ(ibmf_saa_limit_responses(session.handle, bound), IBMF_SUCCESS);
    const auto status_of = [&](std::size_t records) {
        reply = paths(records);
        return ask_for_paths(session);
    };
    EXPECT_EQ(status_of(100), IBMF_SUCCESS);
    EXPECT_EQ(status_of(101), IBMF_NO_RESOURCES);
    EXPECT_EQ(status_of(10'000), IBMF_NO_RESOURCES);
    EXPECT_LE(sent, static_cast<int>(bound / segment_data) + 1 + segment::most_in_window);
    EXPECT_EQ(status_of(100), IBMF_SUCCESS); // the next request works
    reply.data.resize(bound + 1);
    EXPECT_EQ(ask_for_bytes(session), IBMF_NO_RESOURCES);
    reply.data.resize(bound);
    EXPECT_EQ(ask_for_bytes(session), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_saa_limit_responses(session.handle, IBMF_SAA_MAX_RESPONSE), IBMF_SUCCESS);
    EXPECT_EQ(status_of(10'000), IBMF_SUCCESS);
}

TEST_P(SaResponseLimits, LimitResponses_RequiresDatagramAndAppliesToAllSessions) {
    const wire joined;
    scripted_sa sa([](const sa_request&) { return paths(4); });
    const session_scope session;
    const session_scope other;
    EXPECT_EQ(ibmf_saa_limit_responses(session.handle, segment_data - 1), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_saa_limit_responses(nullptr, segment_data), IBMF_BAD_HANDLE);
    EXPECT_EQ(ask_for_paths(other), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_saa_limit_responses(session.handle, segment_data), IBMF_SUCCESS);
    EXPECT_EQ(ask_for_paths(other), IBMF_NO_RESOURCES);
}

// An announced length counts only once the bytes have arrived.
TEST_P(SaResponseLimits, AnnouncedFourGigabytes_AllocatesLittleMemory) {
    wire joined;
    KEVENT begun;
    KeInitializeEvent(&begun, NotificationEvent, FALSE);
    bool lies = true;
    joined.tap = [&](unsigned from, std::array<UCHAR, IB_MAD_SIZE>& bytes) {
        const segment what(bytes);
        if (!lies || !what.active) return true;
        if (from == 0) {
            if (what.is_ack()) KeSetEvent(&begun, IO_NO_INCREMENT, FALSE);
            return false; // the SA stops at the window's end without an ACK
        }
        if (what.number == 1) std::fill_n(&bytes[32], 4, UCHAR{0xFF}); // PayloadLength
        return true;
    };
    scripted_sa sa([](const sa_request&) { return paths(1000); });
    {
        const session_scope session;
        test_access<sa_path_record_t> access(SA_PATHRECORD_ATTRID, {}, 0);
        const std::size_t before = in_use();
        EXPECT_EQ(access.begin(session), IBMF_SUCCESS);
        KeWaitForSingleObject(&begun, Executive, KernelMode, FALSE, nullptr);
        EXPECT_LT(in_use(), before + (std::size_t{4} << 20));
        EXPECT_EQ(access.status(), IBMF_TRANS_FAILURE); // the SA abandons the transfer
        lies = false;
        EXPECT_EQ(ask_for_paths(session), IBMF_SUCCESS);
    }
    joined.tap = nullptr;
}

IRPVERBS_ON_BOTH_MACHINES(SaResponseLimits);

} // namespace
