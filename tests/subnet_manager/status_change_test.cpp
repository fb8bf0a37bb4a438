// Sessions with events on a real machine, under a subnet manager that responds at once.
#include "managed_fabric.hpp"

#include <dispatch/machine.hpp>
#include <hca/hca.hpp>
#include <saa/async.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace irpverbs::testing;
namespace hca = irpverbs::hca;
namespace saa = irpverbs::saa;

class StatusChange : public ::testing::Test {
protected:
    StatusChange() { EXPECT_STREQ(name_of(manager_.wait_until_up()), "STATUS_SUCCESS"); }

    static void count(ibmf_saa_handle_t, ibmf_saa_subnet_event_t what, ibmf_saa_event_details_t*,
                      void* context) {
        if (what == IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG)
            ++*static_cast<std::atomic<int>*>(context);
    }
    // The port itself requests ClassPortInfo and one subscription per producer.
    static void await_responses(ibmf_saa_handle_t session) {
        for (ibmf_saa_stats_t stats{}; stats.ss_queries < 5 || stats.ss_in_flight != 0;) {
            ASSERT_EQ(saa::query_stats(session, stats), IBMF_SUCCESS);
            std::this_thread::yield();
        }
    }
    static int changes_in(int sessions) {
        std::atomic<int> changes{0};
        ibmf_saa_subnet_event_args_t events{count, &changes};
        for (int i = 0; i < sessions; ++i) {
            ibmf_saa_handle_t session = nullptr;
            EXPECT_EQ(ibmf_sa_session_open(port_guid, 0, &events, IBMF_VERSION, 0, &session),
                      IBMF_SUCCESS);
            await_responses(session);
            EXPECT_EQ(ibmf_sa_session_close(&session, 0), IBMF_SUCCESS);
        }
        return changes;
    }

private:
    static constexpr ib_guid_t port_guid = 0x0200000000000201; // host2's port GUID
    irpverbs::dispatch::asio_machine machine_;
    const irpverbs::dispatch::machine::scope here_{machine_};
    const hca::attachment fabric_{unmanaged()};
    running_manager manager_{{.hca = hca::guids()[0]}};
};

// Seed 003: when all four subscriptions succeed, no event is generated.
TEST_F(StatusChange, AllProducersSubscribe_500SessionsIdle_None) { EXPECT_EQ(changes_in(500), 0); }

TEST_F(StatusChange, AllProducersSubscribe_500SessionsLoaded_None) {
    std::vector<std::jthread> spinning;
    for (int i = 0; i < 4; ++i)
        spinning.emplace_back([](const std::stop_token& stop) {
            while (!stop.stop_requested())
                continue;
        });
    EXPECT_EQ(changes_in(500), 0);
}

} // namespace
