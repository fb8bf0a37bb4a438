// Memory runs short once at each place with fault injection: the subnet manager reports it, or
// retries and comes up.
#include "managed_fabric.hpp"
#include "sa_client.hpp"

#include <dispatch/sim_machine.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/testing/fault_sweep.hpp>
#include <hca/software.h>

#include <gtest/gtest.h>

#include <set>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::fault_plan;
using irpverbs::dispatch::machine;
using irpverbs::dispatch::sim_machine;
using irpverbs::dispatch::sweep;
using irpverbs::subnet_manager::manager_state;

void one_second() {
    LARGE_INTEGER second;
    second.QuadPart = -10'000'000;
    KeDelayExecutionThread(KernelMode, FALSE, &second);
}

std::string last_site() {
    const auto last = irpverbs::dispatch::detail::last_fault(machine::current());
    return last ? last->site : "";
}

// Each run has a machine of its own.
template <class Body>
void expect_each_fault_survived(const Body& body) {
    irpverbs::dispatch::fault_sweep(
        [&](sweep& faults) {
            irpverbs::dispatch::random_choices chance{1};
            sim_machine sim(chance, sim_machine::options{});
            const machine::scope inside(sim);
            body(faults);
        },
        sweep::order::singles);
}

TEST(ManagerShortOfMemory, Sweep_AnAllocationFails_SubnetComesUpAllTheSame) {
    std::set<std::string> failed;
    expect_each_fault_survived([&](sweep& faults) {
        const attached hcas(unmanaged());
        irpverbs::subnet_manager::manager manager({.hca = hcas.guid(0)});
        call_result<void> started, up, stopped;
        manager.start(started.handler());
        EXPECT_EQ(started.status(), STATUS_SUCCESS);
        {
            const fault_plan plan(machine::current(), faults);
            manager.wait_until_up(up.handler());
            eventually([&] { return manager.status().sweeps != 0; });
        }
        failed.insert(last_site());
        EXPECT_TRUE(eventually([&] {
            const auto now = manager.status();
            return now.state == manager_state::master && now.sweeps != 0 && !now.incomplete &&
                   now.end_ports == 7;
        })) << last_site();
        {
            sa_client client(hcas.guid(2), open_hca(hcas.fdo(0)).lid());
            EXPECT_EQ(client.table<sa_node_record_t>().size(), 7u) << last_site();
        }
        manager.stop(stopped.handler());
        EXPECT_EQ(stopped.status(), STATUS_SUCCESS) << last_site();
    });
    EXPECT_TRUE(failed.contains("subnet_manager.smp"));
}

TEST(ManagerShortOfMemory, Request_AnAllocationFails_LaterOnesAreAnswered) {
    std::set<std::string> failed;
    expect_each_fault_survived([&](sweep& faults) {
        const attached hcas(unmanaged());
        running_manager manager({.hca = hcas.guid(0)});
        manager.wait_until_up();
        sa_client client(hcas.guid(2), open_hca(hcas.fdo(0)).lid());
        sa_mcmember_record_t member{};
        member.MGID = {0xff12401bffff0000, 1};
        member.PortGID = {IB_DEFAULT_GID_PREFIX, hcas.guid(2) + 1};
        member.JoinState = SA_MC_JOIN_FULL;
        member.P_Key = 0xFFFF;
        constexpr std::uint64_t given = SA_MC_COMPMASK_MGID | SA_MC_COMPMASK_PORTGID |
                                        SA_MC_COMPMASK_JOINSTATE | SA_MC_COMPMASK_QKEY |
                                        SA_MC_COMPMASK_TCLASS | SA_MC_COMPMASK_PKEY |
                                        SA_MC_COMPMASK_FLOWLABEL | SA_MC_COMPMASK_SL;
        const auto join = [&] {
            return client.ask(SA_SUBN_ADM_SET, SA_MCMEMBERRECORD_ATTRID, member, given);
        };
        mad request(MAD_MGMT_CLASS_SUBN_ADM, SA_SUBN_ADM_SET, SA_MCMEMBERRECORD_ATTRID);
        request[1] = MAD_MGMT_CLASS_SUBN_ADM;
        request[2] = 2; // the class's version
        request.put<8>(8, 77).put<8>(48, given);
        irpverbs::saa::pack(member, std::span(request).subspan(56));
        const open_hca host(hcas.fdo(2));
        mad_client sender(host, agent_of(MAD_MGMT_CLASS_SUBN_ADM));
        HCA_SOFTWARE_FAULTS slow{};
        slow.Delay = 100'000; // it arrives when the fault plan is in effect
        HcaSoftwareSetFaults(hcas.guid(0), 1, &slow);
        sender.send(to_lid(open_hca(hcas.fdo(0)).lid()), request);
        {
            const fault_plan plan(machine::current(), faults);
            one_second();
        }
        failed.insert(last_site());
        slow = {};
        HcaSoftwareSetFaults(hcas.guid(0), 1, &slow);
        EXPECT_TRUE(eventually([&] {
            const sa_response done = join();
            return done.code == IBMF_SUCCESS && done.status == 0;
        })) << last_site();
    });
    EXPECT_TRUE(failed.contains("subnet_manager.message"));
    EXPECT_TRUE(failed.contains("subnet_manager.smp"));
}

} // namespace
