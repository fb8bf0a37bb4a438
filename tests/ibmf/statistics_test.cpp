// All statistics of a client and of its port, at points of one exchange where they differ.
#include "table_agent.hpp"

#include <support/both_machines.hpp>

#include <map>

namespace {

using namespace irpverbs::testing;

class IbmfStatistics : public BothMachines {};

constexpr struct {
    const char* name;
    uint64_t ibmf_stats_t::*value;
} fields[] = {
    {"msgs_alloced", &ibmf_stats_t::st_msgs_alloced},
    {"transactions", &ibmf_stats_t::st_transactions},
    {"in_flight", &ibmf_stats_t::st_in_flight},
    {"queued", &ibmf_stats_t::st_queued},
    {"sends_active", &ibmf_stats_t::st_sends_active},
    {"receives_active", &ibmf_stats_t::st_receives_active},
    {"buffers", &ibmf_stats_t::st_buffers},
    {"callbacks_active", &ibmf_stats_t::st_callbacks_active},
    {"alt_qps", &ibmf_stats_t::st_alt_qps},
    {"msgs_sent", &ibmf_stats_t::st_msgs_sent},
    {"msgs_received", &ibmf_stats_t::st_msgs_received},
    {"datagrams_sent", &ibmf_stats_t::st_datagrams_sent},
    {"datagrams_received", &ibmf_stats_t::st_datagrams_received},
    {"retries", &ibmf_stats_t::st_retries},
    {"busy", &ibmf_stats_t::st_busy},
    {"redirected", &ibmf_stats_t::st_redirected},
    {"timeouts", &ibmf_stats_t::st_timeouts},
    {"cancelled", &ibmf_stats_t::st_cancelled},
    {"send_failures", &ibmf_stats_t::st_send_failures},
    {"rmpp_errors", &ibmf_stats_t::st_rmpp_errors},
    {"rmpp_resent", &ibmf_stats_t::st_rmpp_resent},
    {"tids_in_use", &ibmf_stats_t::st_tids_in_use},
    {"malformed", &ibmf_stats_t::st_malformed},
    {"wrong_class", &ibmf_stats_t::st_wrong_class},
    {"stale", &ibmf_stats_t::st_stale},
    {"wrong_peer", &ibmf_stats_t::st_wrong_peer},
    {"wrong_response", &ibmf_stats_t::st_wrong_response},
    {"no_client", &ibmf_stats_t::st_no_client},
    {"no_callback", &ibmf_stats_t::st_no_callback},
    {"overflows", &ibmf_stats_t::st_overflows},
    {"no_memory", &ibmf_stats_t::st_no_memory},
};
static_assert(sizeof(ibmf_stats_t) == std::size(fields) * sizeof(uint64_t));

using counters = std::map<std::string, uint64_t>;

/// The counters that are not 0.
counters of(const client_scope& who, boolean_t of_port = B_FALSE) {
    const ibmf_stats_t all = who.stats(of_port);
    counters made;
    for (const auto& [name, value] : fields)
        if (all.*value != 0) made[name] = all.*value;
    return made;
}

/// The counters of the client and of its port, which has one more message, of another client.
void expect_both(const client_scope& who, const counters& expected) {
    EXPECT_EQ(of(who), expected);
    counters of_port = expected;
    ++of_port["msgs_alloced"];
    EXPECT_EQ(of(who, B_TRUE), of_port);
}

/// The datagrams of one end on the wire.
struct traffic {
    uint64_t sent = 0;
    uint64_t came = 0;
    std::map<std::uint32_t, unsigned> segments; // of the request: how often each was sent

    uint64_t resent() const {
        uint64_t count = 0;
        for (const auto& [number, times] : segments)
            count += times - 1;
        return count;
    }
};

struct blocked {
    KEVENT begun;
    KEVENT go_on;
};

// A request in many datagrams whose first send the driver delays, with a lost segment and a slow
// callback.
TEST_P(IbmfStatistics, LongRequestWithLoss_ClientAndPortCountersMatch) {
    wire joined;
    table_agent agent(1);
    agent.resize(3000);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    const client_scope other(0, PERF_MANAGER);
    const test_message of_other(other.handle, {MAD_MGMT_CLASS_PERF});
    const test_message msg(manager.handle, {MAD_MGMT_CLASS_SUBN_ADM, 0x14, 5, wire::lids[1], 5000});
    traffic seen;
    joined.tap = [&](unsigned from, const auto& bytes) {
        ++(from == 0 ? seen.sent : seen.came);
        if (from != 0 || bytes[25] != 1) return true;
        return ++seen.segments[bytes[31]] != 1 || bytes[31] != 4;
    };
    bool held = false;
    joined.sending = [&](unsigned from, const IB_MAD_SEND&) {
        if (from != 0 || std::exchange(held, true)) return;
        expect_both(manager, {{"msgs_alloced", 1},
                              {"transactions", 1},
                              {"in_flight", 1},
                              {"sends_active", 1},
                              {"msgs_sent", 1},
                              {"datagrams_sent", 1}});
    };
    blocked callback;
    KeInitializeEvent(&callback.begun, NotificationEvent, FALSE);
    KeInitializeEvent(&callback.go_on, NotificationEvent, FALSE);
    const auto block = [](ibmf_handle_t, ibmf_msg_t*, void* context) {
        auto& self = *static_cast<blocked*>(context);
        KeSetEvent(&self.begun, IO_NO_INCREMENT, FALSE);
        KeWaitForSingleObject(&self.go_on, Executive, KernelMode, FALSE, nullptr);
    };
    ibmf_retrans_t times{6, 20'000, 5'000, 0};
    ASSERT_EQ(ibmf_msg_transport(manager.handle, nullptr, msg.ibmf_msg, &times, block, &callback,
                                 IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP),
              IBMF_SUCCESS);
    KeWaitForSingleObject(&callback.begun, Executive, KernelMode, FALSE, nullptr);
    agent.await_responses();
    EXPECT_TRUE(held);
    EXPECT_GT(seen.resent(), 0u);
    ibmf_transfer_result_t end{};
    EXPECT_EQ(ibmf_query_transfer(manager.handle, msg.ibmf_msg, &end), IBMF_SUCCESS);
    EXPECT_EQ(end.tr_segments_resent, seen.resent());
    counters expected{{"msgs_alloced", 1},
                      {"transactions", 1}, // acknowledges repeated segments again
                      {"buffers", 1},
                      {"callbacks_active", 1},
                      {"msgs_sent", 1},
                      {"msgs_received", 1},
                      {"datagrams_sent", seen.sent},
                      {"datagrams_received", seen.came},
                      {"rmpp_resent", seen.resent()}};
    expect_both(manager, expected);
    KeSetEvent(&callback.go_on, IO_NO_INCREMENT, FALSE);
    while (manager.stats().st_callbacks_active != 0)
        KeStallExecutionProcessor(10);
    expected.erase("callbacks_active");
    expect_both(manager, expected);
    EXPECT_EQ(of(other), (counters{{"msgs_alloced", 1}}));
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(IbmfStatistics);

} // namespace
