// Memory runs short once at each place with fault injection: the subnet manager reports it, or
// retries and comes up.
#include "managed_fabric.hpp"
#include "sa_client.hpp"

#include <dispatch/sim_machine.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/testing/fault_sweep.hpp>
#include <hca/software.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
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

/// Fails one of the allocations that may fail, counted from 1.
class one_failure final : public irpverbs::dispatch::choices {
public:
    explicit one_failure(std::uint64_t which) : left_(which) {}

    bool has_failed() const { return left_ == 0; }

private:
    using actors = std::span<const irpverbs::dispatch::actor_id>;
    std::uint32_t choose_actor(actors runnable, bool current_runnable, bool yielded) override {
        return static_cast<std::uint32_t>(chance_.pick_actor(runnable, current_runnable, yielded));
    }
    std::uint32_t choose(std::uint32_t n) override { return chance_.pick(n, "any"); }
    bool choose_fires(std::uint32_t) override { return left_ != 0 && --left_ == 0; }
    std::uint64_t choose_bits() override { return chance_.value64(); }
    std::uint64_t peek() const override { return left_; }

    irpverbs::dispatch::random_choices chance_{1};
    std::uint64_t left_;
};

void count_reregistrations(IB_CA*, void* count, UCHAR, IB_ASYNC_EVENT event) {
    if (event == IB_AE_CLIENT_REREGISTER) ++*static_cast<std::atomic<unsigned>*>(count);
}

// The hosts have LIDs of an earlier manager, and clients that must register again.
void take_over(IB_PORT_STATE state) {
    constexpr ib_lid_t first_lid = 40;
    const attached hcas(unmanaged());
    const IB_CA_DISPATCH calls{nullptr, count_reregistrations};
    std::array<std::atomic<unsigned>, 4> reregistered{};
    std::array<IB_CA*, reregistered.size()> hosts{};
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        HcaSoftwareChangeLid(hcas.guid(i), 1, static_cast<ib_lid_t>(first_lid + i));
        if (state != IB_PORT_INIT) HcaSoftwareSetPortState(hcas.guid(i), 1, state);
        hosts[i] = open_ca(hcas.fdo(i), &calls, &reregistered[i]);
    }
    running_manager manager({.hca = hcas.guid(0)});
    set_memory_short(true);
    eventually([&] { return manager->status().sweeps != 0; });
    set_memory_short(false);
    EXPECT_TRUE(eventually([&] {
        const auto now = manager->status();
        return now.sweeps != 0 && !now.incomplete && now.end_ports == 7;
    })) << last_site();
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        EXPECT_NE(reregistered[i], 0u) << i << ' ' << last_site();
        EXPECT_EQ(port_block(hosts[i], 1)->Lid, first_lid + i) << last_site();
        EXPECT_EQ(close_ca(hosts[i]), STATUS_SUCCESS);
    }
}

void expect_take_over_without_any(IB_PORT_STATE state) {
    std::uint64_t which = 1;
    for (bool more = true; more && !testing::Test::HasFailure(); ++which) {
        one_failure chance(which);
        sim_machine sim(chance, sim_machine::options{});
        const machine::scope inside(sim);
        take_over(state);
        more = chance.has_failed();
    }
    EXPECT_GT(which, 100u);
}

// A PortInfo that was not read contains the port's LID and its support of ClientReregister.
TEST(ManagerShortOfMemory, TakeOver_AnyAllocationFails_HostsReregisterAndKeepTheirLids) {
    expect_take_over_without_any(IB_PORT_INIT);
}

// The activation of a port does not contain ClientReregister.
TEST(ManagerShortOfMemory, TakeOverOfArmedPorts_AnyAllocationFails_HostsReregister) {
    expect_take_over_without_any(IB_PORT_ARMED);
}

TEST(ManagerShortOfMemory, Request_AnAllocationFails_LaterOnesSucceed) {
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
