// Two HCAs of one port each, joined by a wire. The machine's choices determine the delay, loss and
// duplication of each datagram. The driver uses ci/driver.h alone.
#pragma once

#include <ci/driver.h>
#include <hca/hca.h>

#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace irpverbs::testing {

/// Faults of the wire: once in so many datagrams, 0: never.
struct wire_faults {
    std::uint32_t loss = 0;
    std::uint32_t duplication = 0;
    std::uint32_t max_delay_us = 0; // random delays up to this reorder the datagrams
};

/// Counts operations in progress; a caller can wait until there is none.
class busy_count {
public:
    busy_count() { KeInitializeEvent(&none_, NotificationEvent, TRUE); }
    void enter() {
        const KIRQL level = KeAcquireSpinLockRaiseToDpc(&lock_);
        if (count_++ == 0) KeClearEvent(&none_);
        KeReleaseSpinLock(&lock_, level);
    }
    void leave() {
        const KIRQL level = KeAcquireSpinLockRaiseToDpc(&lock_);
        if (--count_ == 0) KeSetEvent(&none_, IO_NO_INCREMENT, FALSE);
        KeReleaseSpinLock(&lock_, level);
    }
    void await_none() {
        KeWaitForSingleObject(&none_, Executive, KernelMode, FALSE, nullptr);
        // Waits until the last operation has released the lock, too.
        KeReleaseSpinLock(&lock_, KeAcquireSpinLockRaiseToDpc(&lock_));
    }

private:
    KSPIN_LOCK lock_ = 0;
    unsigned count_ = 0;
    KEVENT none_;
};

/// Works for fuzzers too, which have no test to fail.
inline void must_succeed(NTSTATUS status, const char* what) {
    if (NT_SUCCESS(status)) return;
    std::fprintf(stderr, "wire: failed: %s (%s)\n", what, NtStatusName(status));
    std::abort();
}

class wire {
public:
    static constexpr ib_guid_t guids[2] = {0x10, 0x20};
    static constexpr ib_lid_t lids[2] = {1, 2};
    static constexpr ib_pkey_t keys[2] = {IB_PKEY_DEFAULT_FULL, 0x8123};

    explicit wire(wire_faults faults = {}) : faults_(faults) {
        for (unsigned end = 0; end < 2; ++end)
            make(end);
    }
    ~wire() {
        await_empty();
        for (end_of_wire& each : ends_) {
            must_succeed(HcaRefuseOpen(each.fdo), "no client has it open");
            HcaDeleteDevice(each.fdo);
        }
    }
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    static ib_gid_t gid_of(unsigned end) { return {IB_DEFAULT_GID_PREFIX, guids[end]}; }
    DEVICE_OBJECT* fdo(unsigned end) const { return ends_[end].fdo; }
    /// Removes a failed device and creates it again under its GUID. No client has it open.
    void replug(unsigned end) {
        await_empty();
        must_succeed(HcaRefuseOpen(ends_[end].fdo), "no client has it open");
        HcaDeleteDevice(ends_[end].fdo);
        make(end);
    }
    /// The driver does all of RMPP itself, like an old kernel; to be called before the first agent
    /// registers. A message crosses the wire in one piece, and a loss loses the whole message.
    void keep_rmpp() { keeps_rmpp_ = true; }
    void do_no_rmpp() { does_rmpp_ = false; }
    /// Registrations of agents return this status from now on.
    void fail_registrations(NTSTATUS status) { register_status_ = status; }
    /// CiModifyPort returns this status and has no effect.
    void set_modify_port_status(NTSTATUS status) { modify_status_ = status; }
    /// Sends return this status from now on; STATUS_SUCCESS: they work again.
    void fail_sends(NTSTATUS status) { send_status_ = status; }
    void set_faults(wire_faults faults) { faults_ = faults; }
    void set_state(unsigned end, IB_PORT_STATE state) {
        ends_[end].state = state;
        HcaReportPortEvent(ends_[end].fdo, 1,
                           state == IB_PORT_ACTIVE ? IB_AE_PORT_ACTIVE : IB_AE_PORT_ERROR);
    }
    /// Moves the ports' subnet manager and reports the change by that event.
    void move_sm(ib_lid_t lid, UCHAR service_level = 0, IB_ASYNC_EVENT event = IB_AE_SM_CHANGE) {
        sm_lid_ = lid;
        sm_level_ = service_level;
        for (const end_of_wire& each : ends_)
            HcaReportPortEvent(each.fdo, 1, event);
    }
    unsigned datagrams() const { return datagrams_; }
    /// Called for each datagram when it is sent, and may change it; false: the datagram is lost.
    std::function<bool(unsigned from_end, std::array<UCHAR, IB_MAD_SIZE>&)> tap;
    /// Called before `tap`; true: the send fails.
    std::function<bool(unsigned from_end, const std::array<UCHAR, IB_MAD_SIZE>&)> fails;

    /// Called for each send before `fails`.
    std::function<void(unsigned from_end, const IB_MAD_SEND&)> sending;

    /// Delivers a datagram of no agent to the agents of that end.
    void inject(unsigned to_end, const void* data, ULONG length, ib_lid_t from) {
        auto* flight = new datagram_in_flight{this, to_end, {}, {}, {}, {}, length, {}};
        flight->from.Lid = from;
        flight->from.Qp = 1;
        flight->from.QKey = IB_QP1_QKEY;
        flight->bytes.resize(length);
        if (length != 0) std::memcpy(flight->bytes.data(), data, length);
        launch(flight, 0);
    }
    /// Waits until no datagram is on the wire.
    void await_empty() { in_flight_.await_none(); }

private:
    struct agent_state {
        std::uint32_t id;
        unsigned holders;
        IRP* leaving;
        HCA_MAD_AGENT* next;
    };
    struct end_of_wire {
        wire* owner = nullptr;
        DEVICE_OBJECT* fdo = nullptr;
        unsigned number = 0;
        std::atomic<IB_PORT_STATE> state{IB_PORT_ACTIVE};
        HCA_MAD_AGENT* agents = nullptr; // guarded by lock_, like all members below
        std::uint32_t last_id = 0;
        bool reporting = false; // one datagram at a time
        LIST_ENTRY arrived;
    };
    struct datagram_in_flight {
        wire* on;
        unsigned to_end;
        KTIMER timer;
        KDPC dpc;
        LIST_ENTRY entry;
        IB_MAD_ADDRESS from;
        ULONG length;
        std::vector<UCHAR> bytes;
    };

    static end_of_wire& end_of(DEVICE_OBJECT* fdo) {
        return **static_cast<end_of_wire**>(HcaDeviceExtension(fdo));
    }
    static agent_state& state_of(HCA_MAD_AGENT* agent) {
        return *static_cast<agent_state*>(agent->Extension);
    }

    void make(unsigned number) {
        end_of_wire& end = ends_[number];
        end.owner = this;
        end.number = number;
        InitializeListHead(&end.arrived);
        HCA_OPERATIONS_INIT(&operations_);
        operations_.QueryPort = query_port;
        operations_.ModifyPort = modify_port;
        operations_.RegisterMadAgent = register_agent;
        operations_.DeregisterMadAgent = deregister_agent;
        operations_.SendMad = send_mad;
        HCA_DEVICE description;
        HCA_DEVICE_INIT(&description);
        description.Operations = &operations_;
        description.Name = number == 0 ? "wire0" : "wire1";
        description.NodeGuid = guids[number];
        description.PortCount = 1;
        description.ExtensionSize = sizeof(end_of_wire*);
        description.MadAgentExtensionSize = sizeof(agent_state);
        must_succeed(HcaCreateDevice(&description, &end.fdo), "a device is made");
        *static_cast<end_of_wire**>(HcaDeviceExtension(end.fdo)) = &end;
    }

    static NTSTATUS query_port(HCA_CA* ca, UCHAR, IB_PORT_ATTR* attr, SIZE_T size, IRP* irp) {
        const end_of_wire& end = end_of(ca->Device);
        IB_PORT_ATTR fixed{};
        fixed.PortNumber = 1;
        fixed.State = static_cast<UCHAR>(end.state.load());
        fixed.PortGuid = guids[end.number];
        fixed.Lid = lids[end.number];
        fixed.SmLid = end.owner->sm_lid_;
        fixed.SmSl = end.owner->sm_level_;
        fixed.GidCount = 1;
        fixed.PKeyCount = 2;
        const ib_gid_t gid = gid_of(end.number);
        const HCA_PORT_TABLES tables{&gid, keys};
        return HcaCopyPortAttributes(&fixed, &tables, attr, size, irp);
    }

    static NTSTATUS modify_port(HCA_CA* ca, UCHAR, ULONG, const IB_MODIFY_PORT*, IRP*) {
        return end_of(ca->Device).owner->modify_status_;
    }

    // Two agents that receive one method of a class and OUI exclude each other.
    static NTSTATUS register_agent(HCA_MAD_AGENT* agent, IRP*) {
        end_of_wire& end = end_of(agent->Ca->Device);
        if (!NT_SUCCESS(end.owner->register_status_)) return end.owner->register_status_;
        const guard locked(*end.owner);
        if (!end.owner->does_rmpp_of(agent->Agent.Attr)) return STATUS_NOT_SUPPORTED;
        for (HCA_MAD_AGENT* each = end.agents; each != nullptr; each = state_of(each).next)
            if (excludes(each->Agent.Attr, agent->Agent.Attr)) return STATUS_SHARING_VIOLATION;
        state_of(agent) = {++end.last_id, 0, nullptr, end.agents};
        end.agents = agent;
        return STATUS_SUCCESS;
    }
    bool does_rmpp_of(const IB_MAD_AGENT_ATTR& attr) const {
        const UCHAR mgmt_class = attr.ManagementClass;
        const bool has_rmpp = mgmt_class == 0x03 || mgmt_class == 0x10 || mgmt_class == 0x12 ||
                              (mgmt_class >= 0x30 && mgmt_class <= 0x4F);
        if (!has_rmpp) return true;
        return does_rmpp_ && (attr.Rmpp == IB_MAD_RMPP_BY_DRIVER) == keeps_rmpp_;
    }
    static bool excludes(const IB_MAD_AGENT_ATTR& left, const IB_MAD_AGENT_ATTR& right) {
        if (left.ManagementClass != right.ManagementClass) return false;
        if (!std::ranges::equal(left.Oui, right.Oui)) return false;
        for (unsigned i = 0; i < 4; ++i)
            if ((left.MethodMask[i] & right.MethodMask[i]) != 0) return true;
        return false;
    }

    static NTSTATUS deregister_agent(HCA_MAD_AGENT* agent, IRP* irp) {
        end_of_wire& end = end_of(agent->Ca->Device);
        const guard locked(*end.owner);
        HCA_MAD_AGENT** link = &end.agents;
        while (*link != agent)
            link = &state_of(*link).next;
        *link = state_of(agent).next;
        if (state_of(agent).holders == 0) return STATUS_SUCCESS;
        IoMarkIrpPending(irp);
        state_of(agent).leaving = irp;
        return STATUS_PENDING;
    }

    static bool is_response_method(UCHAR method) { return (method & 0x80) != 0 || method == 0x07; }

    static NTSTATUS send_mad(HCA_MAD_AGENT* agent, const IB_MAD_SEND* send, IRP*) {
        end_of_wire& end = end_of(agent->Ca->Device);
        wire& self = *end.owner;
        if (!NT_SUCCESS(self.send_status_)) return self.send_status_;
        std::array<UCHAR, IB_MAD_SIZE> bytes{};
        const auto* const data = static_cast<const UCHAR*>(send->Data);
        std::memcpy(bytes.data(), data, std::min(send->Length, IB_MAD_SIZE));
        if (!is_response_method(bytes[3])) {
            const std::uint32_t id = __builtin_bswap32(state_of(agent).id);
            std::memcpy(&bytes[8], &id, sizeof(id));
        }
        if (self.fails != nullptr && self.fails(end.number, bytes)) return STATUS_IO_DEVICE_ERROR;
        ++self.datagrams_;
        if (self.sending) self.sending(end.number, *send);
        const bool lost = self.tap != nullptr && !self.tap(end.number, bytes);
        const auto* known = std::ranges::find(lids, send->To.Lid);
        if (lost || known == std::end(lids) || self.fires("wire loss", self.faults_.loss))
            return STATUS_SUCCESS;
        const auto to_end = static_cast<unsigned>(known - std::begin(lids));
        IB_MAD_ADDRESS from = send->To;
        from.Lid = lids[end.number];
        from.Gid = gid_of(end.number);
        from.GidIndex = 0;
        const unsigned times = self.fires("wire duplication", self.faults_.duplication) ? 2 : 1;
        // A transfer has its true length, a datagram its full size.
        const bool whole = agent->Agent.Attr.Rmpp == IB_MAD_RMPP_BY_DRIVER && (bytes[26] & 1) != 0;
        const ULONG length = whole ? send->Length : IB_MAD_SIZE;
        std::vector<UCHAR> all(bytes.begin(), bytes.begin() + std::min(length, IB_MAD_SIZE));
        if (length > IB_MAD_SIZE) all.insert(all.end(), data + IB_MAD_SIZE, data + length);
        for (unsigned i = 0; i < times; ++i)
            self.launch(new datagram_in_flight{&self, to_end, {}, {}, {}, from, length, all},
                        self.delay());
        return STATUS_SUCCESS;
    }

    static dispatch::machine& machine() { return *dispatch::detail::this_processor().owner; }
    static bool fires(const char* what, std::uint32_t one_in) {
        return machine().fires(what, one_in);
    }
    LONGLONG delay() const {
        if (faults_.max_delay_us == 0) return 0;
        return static_cast<LONGLONG>(machine().random() % (faults_.max_delay_us * 10ull));
    }

    void launch(datagram_in_flight* flight, LONGLONG delay) {
        in_flight_.enter();
        KeInitializeTimer(&flight->timer);
        KeInitializeDpc(&flight->dpc, delivered, flight);
        LARGE_INTEGER due;
        due.QuadPart = -(1 + delay);
        KeSetTimer(&flight->timer, due, &flight->dpc);
    }

    static void delivered(KDPC*, void* context, void*, void*) {
        auto* flight = static_cast<datagram_in_flight*>(context);
        wire& self = *flight->on;
        end_of_wire& end = self.ends_[flight->to_end];
        {
            const guard locked(self);
            InsertTailList(&end.arrived, &flight->entry);
            if (end.reporting) return;
            end.reporting = true;
        }
        self.in_flight_.enter();
        while (self.report_next(end)) {
        }
        self.in_flight_.leave();
    }

    bool report_next(end_of_wire& end) {
        std::unique_ptr<datagram_in_flight> flight;
        HCA_MAD_AGENT* agent = nullptr;
        {
            const guard locked(*this);
            if (IsListEmpty(&end.arrived)) {
                end.reporting = false;
                return false;
            }
            flight.reset(
                CONTAINING_RECORD(RemoveHeadList(&end.arrived), datagram_in_flight, entry));
            agent = receiver_of(end, *flight);
            if (agent != nullptr) ++state_of(agent).holders;
        }
        if (agent != nullptr) {
            const IB_MAD_RECEIVED received{flight->from, flight->bytes.data(), flight->length};
            HcaReportMad(agent, &received);
            release_agent(agent);
        }
        in_flight_.leave();
        return true;
    }

    void release_agent(HCA_MAD_AGENT* agent) {
        IRP* leaving = nullptr;
        {
            const guard locked(*this);
            if (--state_of(agent).holders == 0) leaving = state_of(agent).leaving;
        }
        if (leaving != nullptr) HcaComplete(leaving, STATUS_SUCCESS, 0);
    }

    // A datagram that is too short to have a receiver goes to the first agent.
    static HCA_MAD_AGENT* receiver_of(const end_of_wire& end, const datagram_in_flight& flight) {
        if (flight.length < IB_MAD_HEADER_SIZE) return end.agents;
        const UCHAR method = flight.bytes[3];
        std::uint32_t id = 0;
        std::memcpy(&id, &flight.bytes[8], sizeof(id));
        HCA_MAD_AGENT* of_any_oui = nullptr;
        for (HCA_MAD_AGENT* each = end.agents; each != nullptr; each = state_of(each).next) {
            const bool found = is_response_method(method)
                                   ? state_of(each).id == __builtin_bswap32(id)
                                   : receives(each->Agent.Attr, flight.bytes);
            if (found && (is_response_method(method) || !is_of_any_oui(each->Agent.Attr)))
                return each;
            if (found) of_any_oui = each;
        }
        return of_any_oui;
    }
    static bool is_of_any_oui(const IB_MAD_AGENT_ATTR& attr) {
        return IbClassHasOui(attr.ManagementClass) && attr.Oui[0] == 0 && attr.Oui[1] == 0 &&
               attr.Oui[2] == 0;
    }
    static bool receives(const IB_MAD_AGENT_ATTR& attr, const std::vector<UCHAR>& bytes) {
        constexpr std::size_t oui = 37;
        const UCHAR mgmt_class = bytes[1];
        if (attr.ManagementClass != mgmt_class) return false;
        if (IbClassHasOui(mgmt_class) && !is_of_any_oui(attr) && bytes.size() >= oui + 3 &&
            !std::equal(attr.Oui, attr.Oui + 3, &bytes[oui]))
            return false;
        return (attr.MethodMask[bytes[3] / 32] >> bytes[3] % 32 & 1) != 0;
    }

    class guard {
    public:
        explicit guard(wire& of) : lock_(of.lock_), level_(KeAcquireSpinLockRaiseToDpc(&lock_)) {}
        ~guard() { KeReleaseSpinLock(&lock_, level_); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;

    private:
        KSPIN_LOCK& lock_;
        KIRQL level_;
    };

    wire_faults faults_;
    HCA_OPERATIONS operations_;
    std::array<end_of_wire, 2> ends_;
    KSPIN_LOCK lock_ = 0;
    bool keeps_rmpp_ = false;
    bool does_rmpp_ = true;
    std::atomic<NTSTATUS> register_status_{STATUS_SUCCESS};
    std::atomic<NTSTATUS> modify_status_{STATUS_NOT_SUPPORTED};
    std::atomic<NTSTATUS> send_status_{STATUS_SUCCESS};
    std::atomic<ib_lid_t> sm_lid_{lids[1]};
    std::atomic<UCHAR> sm_level_{0};
    std::atomic<unsigned> datagrams_{0};
    busy_count in_flight_;
};

} // namespace irpverbs::testing
