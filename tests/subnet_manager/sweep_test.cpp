// A sweep configures a fabric that has no configuration, by datagrams alone.
#include "managed_fabric.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <set>

namespace {

using namespace irpverbs::testing;
using irpverbs::subnet_manager::manager_options;
using irpverbs::subnet_manager::manager_state;

class SubnetManager : public BothMachines {};

// Every host's first port, with an agent that receives a vendor's datagrams.
struct host {
    explicit host(DEVICE_OBJECT* fdo)
        : ca(fdo), lid(ca.lid()), agent(ca, agent_of(vendor_class, {3})) {}
    open_hca ca;
    ib_lid_t lid;
    mad_client agent;
};

void expect_all_active(const attached& hcas) {
    for (std::size_t i = 0; i < hcas.count(); ++i) {
        const open_hca ca(hcas.fdo(i));
        const port_block port(ca, 1);
        EXPECT_EQ(port->State, IB_PORT_ACTIVE) << i;
        EXPECT_NE(port->Lid, 0) << i;
        EXPECT_NE(port->SmLid, 0) << i;
    }
}

void expect_everyone_reaches_everyone(const attached& hcas) {
    std::vector<std::unique_ptr<host>> hosts;
    for (std::size_t i = 0; i < hcas.count(); ++i)
        hosts.push_back(std::make_unique<host>(hcas.fdo(i)));
    std::set<ib_lid_t> lids;
    for (const auto& from : hosts) {
        EXPECT_TRUE(lids.insert(from->lid).second) << from->lid << " twice";
        for (const auto& to : hosts) {
            EXPECT_EQ(from->agent.send(to_lid(to->lid), mad(vendor_class, 3, from->lid)),
                      STATUS_SUCCESS);
            EXPECT_EQ(to->agent.receive().data.get<2>(16), from->lid);
        }
    }
}

void expect_managed(const std::string& topology) {
    const attached hcas(unmanaged(topology));
    running_manager manager({.hca = hcas.guid(0)});
    EXPECT_STREQ(name_of(manager.wait_until_up()), "STATUS_SUCCESS");
    const auto status = manager->status();
    EXPECT_EQ(status.state, manager_state::master);
    EXPECT_FALSE(status.incomplete);
    EXPECT_EQ(status.missing_responses, 0u);
    expect_all_active(hcas);
    expect_everyone_reaches_everyone(hcas);
}

TEST_P(SubnetManager, BuiltInFabric_AllPortsBecomeActive) { expect_managed(""); }

TEST_P(SubnetManager, RealTopologies_AllPortsBecomeActive) {
    for (const char* name : {"two_leaves.net", "two_leaves.ibnetdiscover", "two_leaves.full",
                             "one_switch.ibnetdiscover"})
        expect_managed(std::string(TOPOLOGIES "/") + name);
}

TEST_P(SubnetManager, FatTree_AllPortsBecomeActive) {
    const topology_file file(fat_tree_file(4, 2, 4));
    expect_managed(file.path());
}

TEST_P(SubnetManager, Status_CountsNodesSwitchesAndPorts) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0)});
    manager.wait_until_up();
    EXPECT_EQ(manager->status().sweeps, 1u);
    EXPECT_EQ(manager->status().nodes, 6u);
    EXPECT_EQ(manager->status().switches, 2u);
    EXPECT_EQ(manager->status().end_ports, 7u); // host1 has two
}

TEST_P(SubnetManager, LmcOfTwo_EachPortHasFourLids) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0), .lmc = 2});
    manager.wait_until_up();
    for (std::size_t i = 0; i < hcas.count(); ++i) {
        const open_hca ca(hcas.fdo(i));
        EXPECT_EQ(port_block(ca, 1)->Lmc, 2);
        EXPECT_EQ(port_block(ca, 1)->Lid % 4, 0);
    }
}

TEST_P(SubnetManager, ConfiguredPartitions_WrittenToPKeyTables) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0),
                             .partitions = "Default=0x7fff : ALL=limited, SELF=full ;\n"
                                           "Work=0x1234 : ALL_CAS=full ;"});
    manager.wait_until_up();
    const open_hca self(hcas.fdo(0));
    const open_hca other(hcas.fdo(2));
    EXPECT_EQ(IbPortPKey(&*port_block(self, 1), 0), 0xFFFF);
    EXPECT_EQ(IbPortPKey(&*port_block(other, 1), 0), 0x7FFF);
    EXPECT_EQ(IbPortPKey(&*port_block(other, 1), 1), 0x9234);
}

TEST_P(SubnetManager, SecondManagerOnPort_ReturnsSharingViolation) {
    const attached hcas(unmanaged());
    running_manager first({.hca = hcas.guid(0)});
    irpverbs::subnet_manager::manager second({.hca = hcas.guid(0)});
    call_result<void> done;
    second.start(done.handler());
    EXPECT_STREQ(name_of(done.status()), "STATUS_SHARING_VIOLATION");
}

TEST_P(SubnetManager, InvalidOptions_StartFails) {
    const attached hcas(unmanaged());
    const auto started = [](manager_options options) {
        irpverbs::subnet_manager::manager manager(std::move(options));
        call_result<void> done;
        manager.start(done.handler());
        return done.status();
    };
    EXPECT_EQ(started({.hca = 0x77}), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(started({.hca = hcas.guid(0), .port = 9}), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(started({.hca = hcas.guid(0), .lmc = 8}), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(started({.hca = hcas.guid(0), .partitions = "nonsense"}), STATUS_INVALID_PARAMETER);
    irpverbs::subnet_manager::manager none;
    call_result<void> done;
    none.start(done.handler());
    EXPECT_EQ(done.status(), STATUS_INVALID_PARAMETER);
}

TEST_P(SubnetManager, StoppedAtOnce_CannotBeStartedAgain) {
    const attached hcas(unmanaged());
    irpverbs::subnet_manager::manager manager({.hca = hcas.guid(0)});
    call_result<void> started, up, stopped, again;
    manager.start(started.handler());
    manager.wait_until_up(up.handler());
    manager.stop(stopped.handler());
    EXPECT_EQ(stopped.status(), STATUS_SUCCESS);
    EXPECT_TRUE(up.status() == STATUS_CANCELLED || up.status() == STATUS_SUCCESS);
    EXPECT_EQ(started.status(), STATUS_SUCCESS);
    EXPECT_EQ(manager.status().state, manager_state::stopped);
    manager.start(again.handler());
    EXPECT_EQ(again.status(), STATUS_FILE_CLOSED);
}

IRPVERBS_ON_BOTH_MACHINES(SubnetManager);

// In every order of events each request ends once, and no memory is left behind.
TEST(SubnetManagerStopRaces, StopAtAnyTime_EachRequestCompletesOnce) {
    using namespace irpverbs::dispatch;
    explore_options options;
    options.random_runs = 40;
    options.pct_runs = 40;
    expect_explored(options, [](sim_machine& sim) {
        const attached hcas(unmanaged());
        irpverbs::subnet_manager::manager manager({.hca = hcas.guid(0)});
        call_result<void> started, up, stopped;
        manager.start(started.handler());
        manager.wait_until_up(up.handler());
        sim.spawn("stop", [&] { manager.stop(stopped.handler()); });
        sim.run();
        EXPECT_TRUE(started.done());
        EXPECT_TRUE(up.done());
        EXPECT_EQ(stopped.status(), STATUS_SUCCESS);
    });
}

} // namespace
