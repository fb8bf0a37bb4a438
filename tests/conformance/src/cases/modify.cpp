// Modification of attributes: CiModifyCa, CiModifyPort.
#include "datagrams.hpp"

#include <cstring>

namespace irpverbs::conformance {

namespace modify_group {
namespace {

IB_CA_ATTR attributes_of(IB_CA* of) {
    IB_CA_ATTR attr{};
    EXPECT_STATUS(status_of(query_ca(of, &attr, sizeof(attr))), STATUS_BUFFER_OVERFLOW);
    return attr;
}

ULONG capabilities_of(IB_CA* of) { return whole_port(of).as<IB_PORT_ATTR>().CapabilityMask; }

NTSTATUS set(IB_CA* of, ULONG capabilities) {
    const IB_MODIFY_PORT modify{capabilities, 0, 0};
    return status_of(modify_port(of, 1, IB_MODIFY_PORT_CAPABILITIES, &modify));
}
NTSTATUS clear(IB_CA* of, ULONG capabilities) {
    const IB_MODIFY_PORT modify{0, capabilities, 0};
    return status_of(modify_port(of, 1, IB_MODIFY_PORT_CAPABILITIES, &modify));
}

// The case restores the old values: other programs may use the HCA.
void flags_change_named_attributes(world& here) {
    const ca opened(here);
    const IB_CA_ATTR before = attributes_of(opened);
    IB_MODIFY_CA modify{};
    modify.SystemImageGuid = before.SystemImageGuid ^ 0xFF;
    std::memcpy(modify.NodeDescription, "renamed", 8);
    must(modify_ca(opened, IB_MODIFY_CA_NODE_DESCRIPTION, &modify));
    EXPECT_EQ(std::memcmp(attributes_of(opened).NodeDescription, "renamed", 8), 0);
    EXPECT_EQ(attributes_of(opened).SystemImageGuid, before.SystemImageGuid) << "without its flag";
    std::memcpy(modify.NodeDescription, before.NodeDescription, sizeof(modify.NodeDescription));
    must(modify_ca(opened, IB_MODIFY_CA_NODE_DESCRIPTION, &modify));
    must(modify_ca(opened, IB_MODIFY_CA_SYSTEM_IMAGE_GUID, &modify));
    EXPECT_EQ(attributes_of(opened).SystemImageGuid, modify.SystemImageGuid);
    modify.SystemImageGuid = before.SystemImageGuid;
    must(modify_ca(opened, IB_MODIFY_CA_SYSTEM_IMAGE_GUID, &modify));
}

void unknown_flag_returns_invalid_parameter(world& here) {
    const ca opened(here);
    const IB_CA_ATTR before = attributes_of(opened);
    const IB_MODIFY_CA modify{};
    const ULONG known = IB_MODIFY_CA_NODE_DESCRIPTION | IB_MODIFY_CA_SYSTEM_IMAGE_GUID;
    for (ULONG unknown = 1; unknown != 0; unknown <<= 1) {
        if ((unknown & known) != 0) continue;
        EXPECT_STATUS(status_of(modify_ca(opened, known | unknown, &modify)),
                      STATUS_INVALID_PARAMETER);
    }
    const IB_CA_ATTR after = attributes_of(opened);
    EXPECT_EQ(after.SystemImageGuid, before.SystemImageGuid) << "it changed";
    EXPECT_EQ(std::memcmp(after.NodeDescription, before.NodeDescription, IB_NODE_DESCRIPTION_SIZE),
              0)
        << "it changed";
}

void modify_port_unknown_flag_returns_invalid_parameter(world& here) {
    const ca opened(here);
    const ULONG before = capabilities_of(opened);
    const IB_MODIFY_PORT modify{IB_PORT_CAP_CM_SUP, 0, 0};
    for (ULONG unknown = 16; unknown != 0; unknown <<= 1)
        EXPECT_STATUS(
            status_of(modify_port(opened, 1, IB_MODIFY_PORT_CAPABILITIES | unknown, &modify)),
            STATUS_INVALID_PARAMETER);
    EXPECT_EQ(capabilities_of(opened), before);
}

void fixed_capability_returns_invalid_parameter(world& here) {
    const ca opened(here);
    const ULONG before = capabilities_of(opened);
    for (ULONG bit = 1; bit != 0; bit <<= 1) {
        if ((bit & IB_PORT_CAP_MODIFIABLE) == 0) {
            EXPECT_STATUS(set(opened, bit), STATUS_INVALID_PARAMETER);
        }
    }
    const IB_MODIFY_PORT both{IB_PORT_CAP_CM_SUP, IB_PORT_CAP_CM_SUP, 0};
    EXPECT_STATUS(status_of(modify_port(opened, 1, IB_MODIFY_PORT_CAPABILITIES, &both)),
                  STATUS_INVALID_PARAMETER);
    EXPECT_EQ(capabilities_of(opened), before);
}

// A capability that no client holds, so that the case may change it.
ULONG free_capability(IB_CA* of) {
    for (const ULONG each : {IB_PORT_CAP_BOOT_MGMT_SUP, IB_PORT_CAP_SNMP_SUP, IB_PORT_CAP_CM_SUP})
        if ((capabilities_of(of) & each) == 0) return each;
    throw skipped{"every capability of the port is held"};
}

void capability_held_by_other_returns_conflict(world& here) {
    const ca holder(here);
    const ca other(here);
    const ULONG wanted = free_capability(holder);
    EXPECT_STATUS(set(holder, wanted), STATUS_SUCCESS);
    EXPECT_NE(capabilities_of(other) & wanted, 0u);
    EXPECT_STATUS(set(holder, wanted), STATUS_SUCCESS) << "its own";
    EXPECT_STATUS(set(other, wanted), STATUS_FILE_LOCK_CONFLICT);
    EXPECT_STATUS(clear(other, wanted), STATUS_FILE_LOCK_CONFLICT);
    EXPECT_NE(capabilities_of(other) & wanted, 0u) << "a refused change took effect";
    EXPECT_STATUS(clear(holder, wanted), STATUS_SUCCESS);
    EXPECT_EQ(capabilities_of(other) & wanted, 0u);
}

void holder_closed_capabilities_cleared(world& here) {
    const ca other(here);
    const ULONG wanted = free_capability(other);
    ca holder(here);
    EXPECT_STATUS(set(holder, wanted), STATUS_SUCCESS);
    holder.close();
    EXPECT_EQ(capabilities_of(other) & wanted, 0u);
    EXPECT_STATUS(set(other, wanted), STATUS_SUCCESS);
}

// Exactly one of two clients gets the capability.
void racing_holders_one_sets_capability(world& here) {
    const ca one(here);
    const ca other(here);
    const ULONG wanted = free_capability(one);
    EXPECT_STATUS(clear(one, wanted), STATUS_SUCCESS);
    const IB_MODIFY_PORT modify{wanted, 0, 0};
    verb_call first;
    verb_call second;
    world::together(
        {[&] { first.send(modify_port(one, 1, IB_MODIFY_PORT_CAPABILITIES, &modify)); },
         [&] { second.send(modify_port(other, 1, IB_MODIFY_PORT_CAPABILITIES, &modify)); }});
    EXPECT_NE(first.status() == STATUS_SUCCESS, second.status() == STATUS_SUCCESS);
    const NTSTATUS loser = first.status() == STATUS_SUCCESS ? second.status() : first.status();
    EXPECT_STATUS(loser, STATUS_FILE_LOCK_CONFLICT);
}

// Attributes of other flags stay unchanged. The type is a request to the subnet manager, whose
// reply is not checked.
void init_type_is_accepted(world& here) {
    const ca opened(here);
    const ULONG unnamed = free_capability(opened);
    const IB_MODIFY_PORT modify{unnamed, 0, 3};
    must(modify_port(opened, 1, IB_MODIFY_PORT_INIT_TYPE, &modify));
    EXPECT_EQ(capabilities_of(opened) & unnamed, 0u) << "without its flag";
}

// With management: sends a datagram with a wrong Q_Key, and a correct one after it.
void violate_the_qkey(IB_CA* by) {
    const IB_MAD_AGENT_ATTR attr = agent_attr(true);
    verb_call made(register_agent(by, &attr));
    if (made.status() != STATUS_SUCCESS) return;
    auto* itself = made.object<IB_MAD_AGENT>();
    datagram bad(by, 1);
    bad.send().To.QKey = 1;
    verb_call(send_mad(itself, bad.get())).status();
    send(by, itself, 2);
    reception good(itself);
    EXPECT_STATUS(good.call.status(), STATUS_SUCCESS);
    must(deregister_agent(itself));
}

void reset_qkey_violations_counter_is_zero(world& here) {
    const ca opened(here);
    const IB_MODIFY_PORT modify{};
    const verb reset = modify_port(opened, 1, IB_MODIFY_PORT_RESET_QKEY_VIOLATIONS, &modify);
    must(reset);
    violate_the_qkey(opened);
    must(reset);
    EXPECT_EQ(whole_port(opened).as<IB_PORT_ATTR>().QKeyViolations, 0u);
}

// No verb brings the port up again.
void shutdown_port_goes_down(world& here) {
    ca opened(here);
    const ca other(here);
    const ULONG before = whole_port(opened).as<IB_PORT_ATTR>().State;
    verb_call waiter(get_port_event(opened));
    const IB_MODIFY_PORT modify{};
    must(modify_port(opened, 1, IB_MODIFY_PORT_SHUTDOWN, &modify));
    EXPECT_EQ(whole_port(other).as<IB_PORT_ATTR>().State, IB_PORT_DOWN);
    if (before == IB_PORT_ACTIVE) {
        EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
        EXPECT_EQ(waiter.information(), static_cast<ULONG_PTR>(IB_AE_PORT_ERROR));
    }
    opened.close();
}

constexpr const char* changes = "Changes the attributes that Flags (IB_MODIFY_PORT_FLAGS) name.";
constexpr const char* refused =
    "STATUS_INVALID_PARAMETER: an unknown flag, or a capability outside IB_PORT_CAP_MODIFIABLE; "
    "nothing changed.";
constexpr const char* conflict =
    "STATUS_FILE_LOCK_CONFLICT: another IB_CA holds one of them; nothing changed.";

constexpr test_case cases[] = {
    {"ModifyCa.Flags_ChangeNamedAttributes",
     "Changes the attributes that Flags (IB_MODIFY_CA_FLAGS) name.", nothing, kind::steps,
     flags_change_named_attributes},
    {"ModifyCa.UnknownFlag_ReturnsInvalidParameter",
     "STATUS_INVALID_PARAMETER: an unknown flag; nothing changed.", nothing, kind::steps,
     unknown_flag_returns_invalid_parameter},
    {"ModifyPort.UnknownFlag_ReturnsInvalidParameter", refused, nothing, kind::steps,
     modify_port_unknown_flag_returns_invalid_parameter},
    {"ModifyPort.FixedCapability_ReturnsInvalidParameter", refused, nothing, kind::steps,
     fixed_capability_returns_invalid_parameter},
    {"ModifyPort.CapabilityHeldByOther_ReturnsConflict", conflict, nothing, kind::steps,
     capability_held_by_other_returns_conflict},
    {"ModifyPort.HolderClosed_CapabilitiesCleared",
     "This IB_CA holds the capabilities that it sets until it clears them or is closed.", nothing,
     kind::steps, holder_closed_capabilities_cleared},
    {"ModifyPort.RacingHolders_OneSetsCapability", conflict, nothing, kind::race,
     racing_holders_one_sets_capability},
    {"ModifyPort.InitType_IsAccepted", changes, nothing, kind::steps, init_type_is_accepted},
    {"ModifyPort.ResetQKeyViolations_CounterIsZero", changes, nothing, kind::steps,
     reset_qkey_violations_counter_is_zero},
    {"ModifyPort.Shutdown_PortGoesDown", changes, nothing, kind::steps, shutdown_port_goes_down},
};

} // namespace
} // namespace modify_group

const std::span<const test_case> modify_cases = modify_group::cases;

} // namespace irpverbs::conformance
