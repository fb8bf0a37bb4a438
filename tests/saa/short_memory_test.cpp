// Memory runs short at each place with fault injection: the documented status is returned, and
// later calls work.
#include "scripted_sa.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/testing/fault_sweep.hpp>
#include <support/both_machines.hpp>

#include <set>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::fault_plan;
using irpverbs::dispatch::sweep;

class SaAllocationFailure : public BothMachines {
protected:
    SaAllocationFailure() { const session_scope first; } // allocates what a machine has only once

    std::string last_site() {
        const auto last = irpverbs::dispatch::detail::last_fault(machine());
        return last ? last->site : "";
    }

    const wire joined;
    scripted_sa sa{[](const sa_request&) {
        return table_of<sa_node_record_t>(std::vector<sa_node_record_t>(5));
    }};
};

int ask(const session_scope& by) {
    return test_access<sa_node_record_t>(SA_NODERECORD_ATTRID, {}, 0).ask(by);
}

TEST_P(SaAllocationFailure, SessionOpenAllocationFails_NothingRemains) {
    std::set<std::string> failed_sites;
    irpverbs::dispatch::fault_sweep(
        [&](sweep& faults) {
            ibmf_saa_handle_t handle = nullptr;
            int status = IBMF_SUCCESS;
            {
                const fault_plan plan(machine(), faults);
                status = ibmf_sa_session_open(wire::guids[0], 0, nullptr, IBMF_VERSION,
                                              IBMF_SAA_SESSION_CACHED_PATHS, &handle);
            }
            if (status == IBMF_SUCCESS) {
                EXPECT_EQ(ibmf_sa_session_close(&handle, 0), IBMF_SUCCESS);
            } else {
                EXPECT_TRUE(status == IBMF_NO_MEMORY || status == IBMF_NO_RESOURCES)
                    << status << " at " << last_site();
                EXPECT_EQ(handle, nullptr);
                failed_sites.insert(last_site());
            }
            const session_scope after;
            EXPECT_EQ(ask(after), IBMF_SUCCESS);
        },
        sweep::order::singles);
    for (const char* const each :
         {"saa.port", "saa.port_parts", "saa.session", "saa.path_cache", "ibmf.port"})
        EXPECT_TRUE(failed_sites.contains(each)) << each;
}

// The access may have a callback or not.
TEST_P(SaAllocationFailure, AccessAllocationFails_ReportedOnce) {
    for (const bool waits : {true, false}) {
        std::set<std::string> failed_sites;
        irpverbs::dispatch::fault_sweep(
            [&](sweep& faults) {
                const session_scope session;
                ASSERT_EQ(ask(session), IBMF_SUCCESS);
                test_access<sa_node_record_t> access(SA_NODERECORD_ATTRID, {}, 0);
                int status = IBMF_SUCCESS;
                {
                    const fault_plan plan(machine(), faults);
                    status = waits ? access.ask(session) : access.begin(session);
                    const bool began = !waits && status == IBMF_SUCCESS;
                    if (began) status = access.status();
                    EXPECT_EQ(access.calls(), began ? 1 : 0);
                }
                EXPECT_EQ(access.records().size(), status == IBMF_SUCCESS ? 5u : 0u);
                if (status != IBMF_SUCCESS) {
                    EXPECT_TRUE(status == IBMF_NO_MEMORY || status == IBMF_NO_RESOURCES)
                        << status << " at " << last_site();
                    failed_sites.insert(last_site());
                }
                EXPECT_EQ(ask(session), IBMF_SUCCESS);
                EXPECT_EQ(session.stats().ss_waiting, 0u);
            },
            sweep::order::singles);
        for (const char* const each :
             {"saa.sa_response", "pool.lookaside", "saa.message", "ibmf.message_buffer"})
            EXPECT_TRUE(failed_sites.contains(each)) << each << waits;
    }
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(SaAllocationFailure);

} // namespace
