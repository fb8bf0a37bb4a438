// Requests that are outstanding when the link goes down, or when OpenSM stops, dies, restarts or is
// replaced. Each test prints a line when it is ready; ibmf_test.py then acts and answers with a
// line.
#include "ibmf_lab.hpp"
#include "outstanding_queries.hpp"

#include <boost/endian/conversion.hpp>

#include <memory>
#include <string>

namespace irpverbs::testing {
namespace {

constexpr std::size_t node_stride = 112;
constexpr std::uint32_t table_limit_us = 3'000'000;
constexpr LONGLONG scheduling = 500; // ms of delay, beside the delay of the timers themselves
// The machine's cheap clock lags by the delay of the kernel's tick.
constexpr ULONGLONG tick = 50 * millisecond;

void pass(LONGLONG milliseconds) {
    LARGE_INTEGER interval;
    interval.QuadPart = -milliseconds * static_cast<LONGLONG>(millisecond);
    KeDelayExecutionThread(KernelMode, FALSE, &interval);
}

class IbmfLabFailures : public IbmfLab {
protected:
    IbmfLabFailures() { EXPECT_EQ(ibmf_limit_port(manager.handle, standing_gets::count + 1), 0); }

    static void say(const char* what) { std::cout << what << std::endl; }
    static void await_line() {
        std::string line;
        std::getline(std::cin, line);
    }
    std::vector<ib_lid_t> lids_of_nodes() {
        sa_request nodes(manager.handle, sm_lid, SA_NODERECORD_ATTRID, get_table, 1);
        EXPECT_EQ(nodes.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
        const std::span<const std::uint8_t> data = nodes.message().received();
        std::vector<ib_lid_t> lids;
        for (std::size_t at = 0; at + node_stride <= data.size(); at += node_stride)
            lids.push_back(boost::endian::load_big_u16(data.data() + at));
        return lids;
    }
    std::vector<std::uint8_t> all_paths() {
        sa_request paths(manager.handle, sm_lid, SA_PATHRECORD_ATTRID, get_table, 2);
        std::vector<std::uint8_t> whole = raw.ask(paths.raw(), sm_lid, 3000);
        EXPECT_GT(whole.size(), 2 * held_table::held_up_at);
        whole.erase(whole.begin(), whole.begin() + sa_request::data_at);
        return whole;
    }
    /// Sends 64 Gets, and stops a table in its middle, at an SA that does not respond any more.
    void open_both(const ibmf_retrans_t& of_gets, std::uint32_t table_limit) {
        gets = std::make_unique<standing_gets>(manager.handle, sm_lid, lids_of_nodes());
        table = std::make_unique<held_table>(manager.handle, sm_lid, 3);
        gets->send(of_gets);
        table->watched.send({3, 200'000, 50'000, table_limit});
        table->await_the_middle();
        say("open");
        await_line();
        for (std::uint64_t completed = 0; gets->completed() != completed; pass(100))
            completed = gets->completed();
        gets->let_run_out();
        EXPECT_EQ(manager.stats().st_in_flight, standing_gets::count + 1);
        EXPECT_EQ(manager.stats().st_receives_active, 1u);
    }
    void expect_gets_end_with(int status) {
        gets->for_each([&](watched_query& each) {
            EXPECT_EQ(each.status(), status);
            EXPECT_TRUE(each.one_callback_per_send());
        });
        EXPECT_EQ(gets->wrong(), 0u);
    }
    /// Expects the Gets to fail after two tries of at most 300 ms, the second up to a quarter
    /// shorter. This thread waits for the same times by timers of the same machine, which are
    /// equally late.
    void expect_gets_are_given_up_in_time() {
        pass(300);
        pass(300);
        pass(scheduling);
        gets->for_each([](watched_query& each) {
            EXPECT_TRUE(each.done());
            EXPECT_GE(each.took() + tick, 525 * millisecond);
        });
        expect_gets_end_with(IBMF_TRANS_TIMEOUT);
    }
    void expect_table_is_given_up_in_time() {
        const ULONGLONG limit = table_limit_us * 10ull;
        const ULONGLONG due = table->watched.begun_at() + limit;
        if (const ULONGLONG now = KeQueryInterruptTime(); now < due)
            pass(static_cast<LONGLONG>((due - now) / millisecond));
        pass(scheduling);
        EXPECT_TRUE(table->watched.done());
        EXPECT_EQ(table->watched.status(), IBMF_TRANS_TIMEOUT);
        EXPECT_TRUE(table->watched.one_callback_per_send());
        EXPECT_GE(table->watched.took() + tick, limit);
        EXPECT_EQ(manager.stats().st_rmpp_errors, 1u);
    }
    void expect_success_again() {
        sa_request nodes(manager.handle, sm_lid, SA_NODERECORD_ATTRID, get_table, 4);
        expect_same_response(nodes);
        standing_gets again(manager.handle, sm_lid, lids_of_nodes());
        again.let_run_out();
        again.send(patient);
        again.for_each([](watched_query& each) { EXPECT_EQ(each.status(), IBMF_SUCCESS); });
        EXPECT_EQ(again.wrong(), 0u);
    }

    client_scope manager{as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_NO_OFFLOAD};
    // More tries than OpenSM needs to restart.
    static constexpr ibmf_retrans_t stubborn{12, 800'000, 200'000, 0};
    // Fewer datagrams than the socket of a stopped OpenSM holds: when it is full, ibsim blocks and
    // serves no client.
    static constexpr ibmf_retrans_t brief{1, 200'000, 100'000, 0};
    std::unique_ptr<standing_gets> gets;
    std::unique_ptr<held_table> table;
};

// The cable of this host is pulled in the middle of a transfer and not put back.
TEST_F(IbmfLabFailures, LinkDownDuringTransfer_CompletesWithTimeout) {
    const std::size_t whole = all_paths().size();
    held_table paths(manager.handle, sm_lid, 1);
    paths.watched.send({3, 200'000, 50'000, table_limit_us});
    paths.await_the_middle();
    EXPECT_EQ(manager.stats().st_receives_active, 1u);
    EXPECT_EQ(manager.stats().st_transactions, 1u);
    say("pull");
    await_line();
    EXPECT_EQ(manager.stats().st_receives_active, 1u);
    EXPECT_FALSE(paths.watched.done());
    paths.read_on();
    EXPECT_EQ(paths.watched.status(), IBMF_TRANS_TIMEOUT);
    EXPECT_TRUE(paths.watched.one_callback_per_send());
    EXPECT_GE(paths.data().size(), held_table::read_first);
    EXPECT_LT(paths.data().size(), whole);
    EXPECT_EQ(manager.stats().st_receives_active, 0u);
    EXPECT_EQ(manager.stats().st_rmpp_errors, 1u);
    EXPECT_EQ(manager.stats().st_timeouts, 1u);
}

TEST_F(IbmfLabFailures, SaStoppedAndContinued_AllRequestsComplete) {
    const std::vector<std::uint8_t> whole = all_paths();
    open_both(stubborn, 0);
    table->read_on();
    say("goes on");
    expect_gets_end_with(IBMF_SUCCESS);
    EXPECT_EQ(table->watched.status(), IBMF_SUCCESS);
    EXPECT_TRUE(table->watched.one_callback_per_send());
    EXPECT_EQ(table->data(), whole);
    EXPECT_EQ(manager.stats().st_in_flight, 0u);
    EXPECT_EQ(manager.stats().st_timeouts, 0u);
}

TEST_F(IbmfLabFailures, SaStopped_RequestsTimeOutInTime) {
    open_both(brief, table_limit_us);
    table->read_on();
    expect_gets_are_given_up_in_time();
    expect_table_is_given_up_in_time();
    EXPECT_EQ(manager.stats().st_in_flight, 0u);
    EXPECT_EQ(manager.stats().st_timeouts, standing_gets::count + 1);
    EXPECT_GE(manager.stats().st_retries, brief.retrans_retries * standing_gets::count);
    say("given up"); // a client can't disconnect from ibsim while OpenSM is stopped
    await_line();
}

// The restarted OpenSM responds to the Gets, but does not know the old one's table.
TEST_F(IbmfLabFailures, SaRestarted_GetsSucceedAndTableTimesOut) {
    open_both(stubborn, table_limit_us);
    table->read_on();
    say("comes again");
    expect_gets_end_with(IBMF_SUCCESS);
    expect_table_is_given_up_in_time();
    EXPECT_EQ(manager.stats().st_timeouts, 1u);
    expect_success_again();
}

// The master is killed; the standby has another LID.
TEST_F(IbmfLabFailures, MasterKilled_StandbyRespondsOnceMaster) {
    const ib_lid_t first = sm_lid;
    open_both(brief, table_limit_us);
    table->read_on();
    expect_gets_are_given_up_in_time();
    expect_table_is_given_up_in_time();
    while (sm_lid == first) { // the lab limits the time
        pass(50);
        look_at_port();
    }
    expect_success_again();
}

} // namespace
} // namespace irpverbs::testing
