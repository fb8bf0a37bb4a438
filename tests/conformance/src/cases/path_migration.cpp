// Path migration of the connection of two queue pairs. Both paths may be the same one.
#include "transfers.hpp"

namespace irpverbs::conformance {

namespace path_migration_group {
namespace {

constexpr ib_qp_type_t rc = IB_QPT_RELIABLE_CONN;
constexpr ib_qp_type_t uc = IB_QPT_UNRELIABLE_CONN;

bool has_capability(IB_CA* of) {
    IB_CA_ATTR attr{};
    status_of(query_ca(of, &attr, sizeof(attr)));
    return (attr.Capabilities & IB_CA_CAP_AUTO_PATH_MIGRATION) != 0;
}

ib_qp_mod_t with_alternate_path(IB_CA* of, ib_qp_mod_t change = {}) {
    change.opts |= IB_MOD_QP_ALTERNATE_AV;
    change.alternate_av = way_to_own_port(of);
    change.alternate_local_ack_timeout = 14;
    return change;
}

ib_qp_mod_t to_migration(ib_apm_state_t state) {
    ib_qp_mod_t change{};
    change.opts = IB_MOD_QP_APM_STATE;
    change.apm_state = state;
    return change;
}

void capability_decides_on_alternate_paths(world& here) {
    const qp_scene scene(here);
    ci::rtr_attributes path;
    path.av = way_to_own_port(scene.opened);
    EXPECT_STATUS(scene.pair.modify(ci::to_init(rc, {})), STATUS_SUCCESS);
    const bool can = has_capability(scene.opened);
    EXPECT_STATUS(scene.pair.modify(with_alternate_path(scene.opened, ci::to_rtr(rc, path))),
                  can ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
    const ib_qp_attr_t seen = scene.pair.attributes();
    EXPECT_EQ(seen.state, can ? IB_QPS_RTR : IB_QPS_INIT);
    EXPECT_EQ(seen.apm_state, IB_APM_MIGRATED);
}

/// Two connected queue pairs of an HCA that migrates paths.
struct migration_scene : transfer_scene {
    explicit migration_scene(const world& here, ib_qp_type_t type = rc)
        : transfer_scene(checked(here), type) {}

    static const world& checked(const world& here) {
        if (!has_capability(ca(here))) throw skipped{"the HCA has no path migration"};
        return here;
    }
    void move_a_packet(transfer_end& from, transfer_end& to) {
        to.post_receive(7);
        from.post(from.request(WR_SEND, 5));
        from.expect(5);
        to.expect(7);
    }
    void move_packets() {
        move_a_packet(one, other);
        move_a_packet(other, one);
    }
    void rearm() {
        ib_qp_mod_t change = with_alternate_path(opened, to_migration(IB_APM_REARM));
        for (const transfer_end* each : {&one, &other})
            EXPECT_STATUS(each->pair.modify(change), STATUS_SUCCESS);
    }
};

void rearm_needs_an_alternate_path(world& here) {
    const migration_scene scene(here);
    const qp& pair = scene.one.pair;
    EXPECT_STATUS(pair.modify(to_migration(IB_APM_REARM)), STATUS_INVALID_DEVICE_STATE);
    EXPECT_STATUS(pair.modify(with_alternate_path(scene.opened)), STATUS_SUCCESS);
    EXPECT_STATUS(pair.modify(to_migration(IB_APM_REARM)), STATUS_SUCCESS);
    EXPECT_STATUS(pair.modify(to_migration(IB_APM_MIGRATED)), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(pair.attributes().apm_state, IB_APM_REARM);
}

void rearmed_ends_are_armed_by_packets(world& here) {
    for (const ib_qp_type_t type : {rc, uc}) {
        migration_scene scene(here, type);
        scene.rearm();
        scene.move_packets();
        for (const transfer_end* each : {&scene.one, &scene.other}) {
            EXPECT_EQ(each->pair.attributes().apm_state, IB_APM_ARMED);
            EXPECT_STATUS(each->pair.modify(to_migration(IB_APM_REARM)),
                          STATUS_INVALID_DEVICE_STATE);
        }
    }
}

void request_migrates_both_ends(world& here) {
    for (const ib_qp_type_t type : {rc, uc}) {
        migration_scene scene(here, type);
        scene.rearm();
        scene.move_packets();
        verb_call own(get_qp_event(scene.one.pair));
        verb_call peers(get_qp_event(scene.other.pair));
        EXPECT_STATUS(scene.one.pair.modify(to_migration(IB_APM_MIGRATED)), STATUS_SUCCESS);
        scene.move_packets();
        for (verb_call* each : {&own, &peers}) {
            EXPECT_STATUS(each->status(), STATUS_SUCCESS);
            EXPECT_EQ(each->information(), ULONG_PTR{IB_AE_PATH_MIGRATED});
        }
        for (const transfer_end* each : {&scene.one, &scene.other}) {
            const ib_qp_attr_t seen = each->pair.attributes();
            EXPECT_EQ(seen.apm_state, IB_APM_MIGRATED);
            EXPECT_EQ(seen.local_ack_timeout, 14);
        }
    }
}

constexpr const char* capability = "An alternate path and IB_APM_REARM are supported with "
                                   "IB_CA_CAP_AUTO_PATH_MIGRATION.";
constexpr const char* wrong_request =
    "IB_APM_REARM in IB_APM_ARMED or without an alternate path, and IB_APM_MIGRATED in "
    "IB_APM_REARM, return STATUS_INVALID_DEVICE_STATE.";
constexpr const char* armed = "An end with IB_APM_REARM enters IB_APM_ARMED when it receives a "
                              "packet of a peer that is rearmed, too.";
constexpr const char* exchanged =
    "The primary and the alternate path are then exchanged, with their P_Keys and timeouts, the "
    "state is IB_APM_MIGRATED, and IB_AE_PATH_MIGRATED occurs at both ends.";

constexpr test_case cases[] = {
    {"ModifyQp.AlternatePath_NeedsTheCapability", capability, nothing, kind::steps,
     capability_decides_on_alternate_paths},
    {"PathMigration.RearmWithoutAlternatePath_ReturnsInvalidDeviceState", wrong_request, nothing,
     kind::steps, rearm_needs_an_alternate_path},
    {"PathMigration.RearmedEnds_AreArmedByPackets", armed, nothing, kind::steps,
     rearmed_ends_are_armed_by_packets},
    {"PathMigration.Request_MigratesBothEnds", exchanged, nothing, kind::steps,
     request_migrates_both_ends},
};

} // namespace
} // namespace path_migration_group

const std::span<const test_case> path_migration_cases = path_migration_group::cases;

} // namespace irpverbs::conformance
