// Path migration on the fabric: a host with two ports goes on over the other one.
#include "connected_end.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <hca/software.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// A connection of a host with two ports and a host with one. The alternate path begins at the
/// second port.
struct connection_with_two_paths {
    explicit connection_with_two_paths(const attached& hcas,
                                       ib_qp_type_t type = IB_QPT_RELIABLE_CONN)
        : host(hcas.guid(0)), one(hcas.fdo(0), type), two(hcas.fdo(1), type) {
        one.connect(two);
        two.connect(one);
    }
    ib_av_attr_t alternate_of_one() const {
        ib_av_attr_t made{};
        made.dlid = two.lid();
        made.port_num = 2;
        return made;
    }
    ib_av_attr_t alternate_of_two() const {
        ib_av_attr_t made{};
        made.dlid = port_block(one.ca(), 2)->Lid;
        made.port_num = 1;
        return made;
    }
    /// Moves a packet in each direction.
    void move_packets() {
        for (connected_end* end : {&one, &two}) {
            connected_end& peer = end == &one ? two : one;
            EXPECT_EQ(end->post(end->remote(WR_RDMA_WRITE, 77, peer, 8)), STATUS_SUCCESS);
            EXPECT_EQ(end->next().Status, ULONG{IB_WC_SUCCESS});
        }
    }
    void arm(USHORT pkey_index_of_two = 0) {
        EXPECT_EQ(one.rearm(alternate_of_one()), STATUS_SUCCESS);
        EXPECT_EQ(two.rearm(alternate_of_two(), pkey_index_of_two), STATUS_SUCCESS);
        move_packets();
        LARGE_INTEGER millisecond;
        millisecond.QuadPart = -10'000;
        for (unsigned i = 0; i < 1000 && !is_armed(); ++i) // unreliable packets are on their way
            KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
        EXPECT_TRUE(is_armed());
    }
    bool is_armed() const {
        return one.attributes().apm_state == IB_APM_ARMED &&
               two.attributes().apm_state == IB_APM_ARMED;
    }
    void break_first_path() { EXPECT_EQ(HcaSoftwareSetLink(host, 1, FALSE), STATUS_SUCCESS); }

    const ib_guid_t host;
    connected_end one;
    connected_end two;
};

ULONG_PTR next_event(const connected_end& of) {
    verb_call event([&](IRP* irp) { return CiGetQpAsyncEvent(of.qp, irp); });
    EXPECT_EQ(event.status(), STATUS_SUCCESS);
    return event.information();
}

bool has_no_event(const connected_end& of) {
    verb_call event([&](IRP* irp) { return CiGetQpAsyncEvent(of.qp, irp); });
    event.cancel();
    return event.status() == STATUS_CANCELLED;
}

void expect_migrated(const connected_end& end, ib_lid_t to, UCHAR port) {
    EXPECT_EQ(next_event(end), ULONG_PTR{IB_AE_PATH_MIGRATED});
    const ib_qp_attr_t seen = end.attributes();
    EXPECT_EQ(seen.apm_state, IB_APM_MIGRATED);
    EXPECT_EQ(seen.primary_av.dlid, to);
    EXPECT_EQ(seen.primary_port, port);
    EXPECT_TRUE(has_no_event(end));
}

void expect_on_second_path(const connection_with_two_paths& its) {
    expect_migrated(its.one, its.two.lid(), 2);
    expect_migrated(its.two, its.alternate_of_two().dlid, 1);
}

class PathMigration : public BothMachines {
protected:
    void connect(ib_qp_type_t type = IB_QPT_RELIABLE_CONN) { its.emplace(hcas, type); }

    attached hcas;
    std::optional<connection_with_two_paths> its;
};

TEST_P(PathMigration, Attributes_NameTheCapability) {
    const open_hca ca(hcas.fdo(0));
    union {
        IB_CA_ATTR attributes;
        UCHAR room[4096];
    } block;
    EXPECT_EQ(verb_call([&](IRP* irp) {
                  return CiQueryCa(ca, sizeof(block), &block.attributes, irp);
              }).status(),
              STATUS_SUCCESS);
    EXPECT_NE(block.attributes.Capabilities & IB_CA_CAP_AUTO_PATH_MIGRATION, 0u);
    EXPECT_NE(port_block(ca, 1)->CapabilityMask & IB_PORT_CAP_APM_SUP, 0u);
}

TEST_P(PathMigration, PulledCable_MovesTheConnectionToTheOtherPort) {
    connect();
    its->arm();
    its->one.fill();
    its->break_first_path();
    EXPECT_EQ(its->one.post(its->one.remote(WR_RDMA_WRITE, 1, its->two, connected_end::size)),
              STATUS_SUCCESS);
    EXPECT_EQ(its->one.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(its->two.has_bytes_of(its->one, connected_end::size));
    expect_on_second_path(*its);
    its->move_packets();
}

TEST_P(PathMigration, PulledCableOfAConnectionThatIsNotArmed_EndsIt) {
    connect();
    EXPECT_EQ(its->one.rearm(its->alternate_of_one()), STATUS_SUCCESS);
    its->break_first_path();
    EXPECT_EQ(its->one.post(its->one.remote(WR_RDMA_WRITE, 1, its->two, 8)), STATUS_SUCCESS);
    EXPECT_EQ(its->one.next().Status, ULONG{IB_WC_RETRY_EXCEEDED});
}

TEST_P(PathMigration, RequestOfTheConsumer_TakesThePeerAlong) {
    for (const ib_qp_type_t type : {IB_QPT_RELIABLE_CONN, IB_QPT_UNRELIABLE_CONN}) {
        connect(type);
        its->arm();
        EXPECT_EQ(its->two.migrate(), STATUS_SUCCESS);
        EXPECT_EQ(its->two.post(its->two.remote(WR_RDMA_WRITE, 1, its->one, 8)), STATUS_SUCCESS);
        EXPECT_EQ(its->two.next().Status, ULONG{IB_WC_SUCCESS});
        expect_on_second_path(*its);
        its.reset();
    }
}

TEST_P(PathMigration, Rearm_InSqd_IsTaken) {
    connect();
    EXPECT_EQ(modify_qp(its->one.qp, ci::to_state(IB_QPS_SQD)), STATUS_SUCCESS);
    EXPECT_EQ(its->one.rearm(its->alternate_of_one()), STATUS_SUCCESS);
    EXPECT_EQ(its->one.attributes().apm_state, IB_APM_REARM);
    EXPECT_EQ(modify_qp(its->one.qp, ci::to_state(IB_QPS_RTS)), STATUS_SUCCESS);
    its->arm();
    EXPECT_EQ(its->one.rearm(its->alternate_of_one()), STATUS_INVALID_DEVICE_STATE)
        << "an armed end is rearmed only after a migration";
}

// The peer is in another partition on the alternate path.
TEST_P(PathMigration, AlternatePathThatThePeerRefuses_IsReportedThere) {
    connect();
    EXPECT_EQ(HcaSoftwareChangePKey(hcas.guid(1), 1, 3, 0x8123), STATUS_SUCCESS);
    its->arm(3);
    EXPECT_EQ(its->one.migrate(), STATUS_SUCCESS);
    EXPECT_EQ(its->one.post(its->one.remote(WR_RDMA_WRITE, 1, its->two, 8)), STATUS_SUCCESS);
    EXPECT_EQ(its->one.next().Status, ULONG{IB_WC_RETRY_EXCEEDED});
    EXPECT_EQ(next_event(its->two), ULONG_PTR{IB_AE_PATH_MIGRATION_ERROR});
    EXPECT_TRUE(has_no_event(its->two));
    EXPECT_EQ(its->two.attributes().apm_state, IB_APM_ARMED);
}

IRPVERBS_ON_BOTH_MACHINES(PathMigration);

// A cable is pulled at any time during a transfer in both directions, perhaps together with a
// request of a consumer: each byte arrives, and each end reports one migration.
TEST(PathMigrationUnderTraffic, PulledCable_LosesNothing) {
    constexpr ULONG part = connected_end::size / 2;
    dispatch::explore_options options;
    options.random_runs = 300;
    options.pct_runs = 100;
    options.machine.step_limit = 1'000'000;
    expect_explored(options, [&](dispatch::sim_machine& sim) {
        const attached hcas;
        connection_with_two_paths its(hcas);
        its.arm();
        its.one.fill();
        std::fill(its.two.bytes().begin() + part, its.two.bytes().end(), UCHAR{0x5A});
        sim.spawn("one", [&] {
            for (ULONGLONG i = 0; i < 4; ++i) {
                ib_send_wr_t write = its.one.remote(WR_RDMA_WRITE, i, its.two, part / 4);
                write.ds_array->vaddr += i * (part / 4);
                write.remote_ops.vaddr += i * (part / 4);
                EXPECT_EQ(its.one.post(write), STATUS_SUCCESS);
                const IB_WC done = its.one.next();
                EXPECT_EQ(done.WrId, i);
                EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
            }
        });
        sim.spawn("two", [&] {
            ib_send_wr_t write = its.two.remote(WR_RDMA_WRITE, 9, its.one, part);
            write.ds_array->vaddr += part;
            write.remote_ops.vaddr += part;
            EXPECT_EQ(its.two.post(write), STATUS_SUCCESS);
            EXPECT_EQ(its.two.next().Status, ULONG{IB_WC_SUCCESS});
        });
        sim.spawn("cable", [&] {
            its.break_first_path();
            if (sim.random() % 2 != 0) its.two.migrate();
        });
        sim.run();
        its.move_packets(); // a migration of one end only would end here
        EXPECT_TRUE(its.two.has_bytes_of(its.one, part));
        EXPECT_TRUE(std::equal(its.one.bytes().begin() + part, its.one.bytes().end(),
                               its.two.bytes().begin() + part));
        expect_on_second_path(its);
    });
}

} // namespace
