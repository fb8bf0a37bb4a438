// Two queue pairs of the transport, joined by a simulated carrier with faults, and its clock.
#pragma once

#include "simulated_memory.hpp"

#include <transport/packet_format.hpp>
#include <transport/queue_pair.hpp>
#include <transport/straight_through.hpp>

#include <dispatch/testing/choices.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace irpverbs::testing {

using hca_software::machine_time;
using transport::operation;
using transport::packet;
using transport::psn;

/// Faults of the carrier, each once in that many packets; 0: never.
struct carrier_faults {
    std::uint32_t loss = 0;
    std::uint32_t duplication = 0;
    std::uint32_t corruption = 0;
    std::uint32_t full = 0; // the carrier takes the packet later
    machine_time jitter = 0;
    std::uint32_t straight = 0; // a work request passes straight through if it can
};

class simulated_pair;

/// The bytes of receives are there from now on.
inline void show_delivered(transport::memory_access& memory) {
    if (auto* const late = dynamic_cast<simulated_memory*>(&memory)) late->show_delivered();
}

/// A shared receive queue with an XRC domain.
class simulated_srq final : public transport::xrc_owner {
public:
    simulated_srq(transport::memory_access& memory, const IB_XRCD& in)
        : queue(memory, this), in_(in) {
        EXPECT_TRUE(queue.allocate(64, 4));
    }
    const IB_XRCD* domain() const override { return &in_; }
    bool complete(const IB_WC& entry) override {
        if (received.size() == room) return false;
        show_delivered(queue.memory());
        received.push_back(entry);
        return true;
    }
    void report_limit() override { ++limits; }

    NTSTATUS receive(ULONGLONG wr_id, const region& into, ULONG length) {
        ib_local_ds_t segment{into.base, length, into.key};
        ib_recv_wr_t what{nullptr, wr_id, &segment, 1};
        ib_recv_wr_t* failed = nullptr;
        return queue.post(&what, &failed);
    }

    transport::shared_receive_queue queue;
    std::vector<IB_WC> received;
    std::size_t room = 1000; // of the completion queue
    unsigned limits = 0;

private:
    const IB_XRCD& in_;
};

/// One end of the connection.
class simulated_end final : public transport::queue_pair_owner {
public:
    simulated_end(simulated_pair& world, unsigned index);

    transport::transmission transmit(const packet& what) override;
    std::optional<ib_av_attr_t> find_way(const IB_AV& to) override {
        return to.Attr.port_num != 0 ? std::optional(to.Attr) : std::nullopt;
    }
    ULONG datagram_limit(const ib_av_attr_t& way) override {
        return way.dlid != 0 ? 128u << attr.path_mtu : 0;
    }
    transport::shared_receive_queue* find_receives(ULONG number) override {
        const auto found = srqs.find(number);
        return found != srqs.end() ? &found->second->queue : nullptr;
    }
    machine_time now() override;
    void set_timer(machine_time due) override { timer = due; }
    void complete_send(const IB_WC& entry) override { sent.push_back(entry); }
    void complete_receive(const IB_WC& entry) override {
        show_delivered(shared != nullptr ? shared->memory() : memory);
        received.push_back(entry);
    }
    void report(IB_ASYNC_EVENT event) override { events.push_back(event); }
    void migration_changed() override {}
    void state_changed(ib_qp_state_t to) override { states.push_back(to); }

    /// Posts one work request; returns the status.
    NTSTATUS send(ib_send_wr_t what) {
        ib_send_wr_t* failed = nullptr;
        return pass_straight(what) ? STATUS_SUCCESS : engine->post_send(&what, &failed);
    }
    NTSTATUS receive(ULONGLONG wr_id, const region& into, ULONG length, ULONGLONG offset = 0) {
        ib_local_ds_t segment{into.base + offset, length, into.key};
        ib_recv_wr_t what{nullptr, wr_id, &segment, 1};
        ib_recv_wr_t* failed = nullptr;
        return shared != nullptr ? shared->post(&what, &failed)
                                 : engine->post_receive(&what, &failed);
    }
    /// Gives it a shared receive queue, before it connects.
    void share_receives(ULONG depth = 64) { share_receives(depth, memory); }
    void share_receives(ULONG depth, transport::memory_access& of_receives) {
        shared = std::make_unique<transport::shared_receive_queue>(of_receives);
        ASSERT_TRUE(shared->allocate(depth, 4));
        attr.rq_depth = attr.rq_sge = 0;
    }
    /// The receives in its shared queue; 0 without one.
    ULONG receives_left() const { return shared != nullptr ? shared->count() : 0; }
    void connect();
    simulated_end& peer() const;

    simulated_pair& world;
    unsigned index;
    ib_qp_attr_t attr{};
    simulated_memory memory;
    transport::memory_access* other_memory = nullptr;        // that it uses instead of `memory`
    std::unique_ptr<transport::shared_receive_queue> shared; // null: it has its own receives
    std::map<ULONG, simulated_srq*> srqs;                    // of an XRC target, by their numbers
    transport::early_packet_room* room = nullptr;
    std::unique_ptr<transport::queue_pair> engine;
    machine_time timer = 0;
    std::vector<IB_WC> sent;
    std::vector<IB_WC> received;
    std::vector<IB_ASYNC_EVENT> events;
    std::vector<ib_qp_state_t> states;
    transport::straight_totals totals;
    transport::straight_traffic traffic; // of `totals`

private:
    transport::memory_access& used_memory() {
        return other_memory != nullptr ? *other_memory : memory;
    }
    transport::straight_end straight() { return {*engine, used_memory(), *this}; }
    bool pass_straight(ib_send_wr_t& what);
};

class simulated_pair {
public:
    explicit simulated_pair(std::uint64_t seed = 1, ib_qp_type_t type = IB_QPT_RELIABLE_CONN)
        : chance(seed) {
        for (unsigned i = 0; i < 2; ++i) {
            ends[i] = std::make_unique<simulated_end>(*this, i);
            ib_qp_attr_t& attr = ends[i]->attr;
            attr.qp_type = type;
            attr.apm_state = IB_APM_MIGRATED;
            attr.num = 0x800001 + i;
            attr.dest_num = 0x800002 - i;
            attr.qkey = 0x1111;
            attr.access_ctrl = IB_AC_REMOTE;
            attr.sq_psn = 0xFFFFF0 + i;
            attr.rq_psn = 0xFFFFF1 - i;
            attr.sq_depth = attr.rq_depth = 64;
            attr.sq_sge = attr.rq_sge = 4;
            attr.sq_max_inline = 64;
            attr.path_mtu = IB_MTU_256;
            attr.resp_res = attr.init_depth = 4;
            attr.rnr_nak_timeout = 1;
            attr.local_ack_timeout = 8; // about 1 ms
            attr.retry_cnt = 7;
            attr.rnr_retry_cnt = 7;
        }
    }

    simulated_end& one() { return *ends[0]; }
    simulated_end& two() { return *ends[1]; }
    /// Brings both ends to IB_QPS_RTS.
    void connect() {
        for (const auto& each : ends)
            each->connect();
    }

    /// Runs until nothing is under way and no timer is set, or `steps` have passed.
    void run(unsigned steps = 1'000'000) {
        while (steps-- != 0 && step()) {
        }
    }
    bool step();

    /// Delivers a packet to an end as if its peer had sent it on the primary path.
    void inject(simulated_end& to, const packet& what) {
        inject(to, what, to.attr.primary_av.dlid);
    }
    void inject(simulated_end& to, const packet& what, ib_lid_t path) {
        inject(to, bytes_of(what), path);
    }
    void inject(simulated_end& to, std::vector<UCHAR> bytes, ib_lid_t path) {
        arrive(to, std::move(bytes), path);
        to.engine->run();
    }
    std::vector<UCHAR> bytes_of(const packet& what) {
        std::vector<UCHAR> bytes(transport::max_frame_size);
        bytes.resize(transport::write_frame({}, what, bytes));
        return bytes;
    }

    /// Packets that overtake others are kept, `most` at a time. Before both ends connect.
    void keep_early_packets(ULONG most = 1000) {
        room.emplace(most);
        for (const auto& each : ends)
            each->room = &*room;
    }

    std::optional<transport::early_packet_room> room; // outlives the ends
    std::unique_ptr<simulated_end> ends[2];
    carrier_faults faults;
    dispatch::random_choices chance;
    machine_time now = 1;
    unsigned packets = 0;
    std::function<bool(const packet&)> drop;        // true: the packet is lost
    std::set<ib_lid_t> broken;                      // paths on which all packets are lost
    std::function<void(const packet&)> on_transmit; // observes all packets
    std::function<void(const std::vector<UCHAR>&)> on_bytes;

private:
    friend simulated_end;

    transport::transmission transmit(simulated_end& from, const packet& what);
    void schedule(machine_time after, std::function<void()> what) {
        events_.emplace(std::pair(now + after, ++order_), std::move(what));
    }
    // Both ends give a path the same LID.
    void arrive(simulated_end& to, std::vector<UCHAR> bytes, ib_lid_t path) {
        const auto frame = transport::parse_frame(bytes);
        if (!frame) return;
        ASSERT_TRUE(to.engine != nullptr);
        const bool follows = to.engine->follows(frame->content);
        if (path == (follows ? to.attr.alternate_av : to.attr.primary_av).dlid)
            to.engine->receive(frame->content);
        else if (follows)
            to.engine->refuse_migration();
    }

    // So a request and its response never fail as often as a requester tries, also if packets that
    // overtake each other cost tries.
    static constexpr unsigned most_failures = 2;
    std::map<std::pair<unsigned, ULONG>, unsigned> failures_; // by the sender and the packet number
    std::map<std::pair<machine_time, std::uint64_t>, std::function<void()>> events_;
    std::uint64_t order_ = 0;
};

inline simulated_end::simulated_end(simulated_pair& in, unsigned number)
    : world(in), index(number) {}

inline transport::transmission simulated_end::transmit(const packet& what) {
    return world.transmit(*this, what);
}

inline machine_time simulated_end::now() { return world.now; }

inline simulated_end& simulated_end::peer() const { return *world.ends[1 - index]; }

inline bool simulated_end::pass_straight(ib_send_wr_t& what) {
    if (!world.chance.fires("straight", world.faults.straight)) return false;
    const transport::straight_terms terms(*engine, *peer().engine);
    const transport::straight_source from(straight(), terms, totals);
    transport::straight_through way(from, peer().straight());
    const bool passed = way.pass(&what) == nullptr;
    traffic = totals.read(terms.is_acknowledged);
    return passed;
}

inline void simulated_end::connect() {
    engine =
        std::make_unique<transport::queue_pair>(attr, used_memory(), *this, shared.get(), room);
    ASSERT_TRUE(engine->allocate());
    engine->enter(IB_QPS_INIT);
    engine->enter(IB_QPS_RTR);
    engine->enter(IB_QPS_RTS);
}

inline transport::transmission simulated_pair::transmit(simulated_end& from, const packet& what) {
    if (chance.fires("full", faults.full)) {
        schedule(100, [&from] { from.engine->run(); });
        return transport::transmission::later;
    }
    ++packets;
    if (on_transmit) on_transmit(what);
    std::vector<UCHAR> bytes = bytes_of(what);
    if (on_bytes) on_bytes(bytes);
    const ib_lid_t path = from.attr.primary_av.dlid;
    unsigned& failures = failures_[{from.index, what.number.value()}];
    const bool may_fail = failures < most_failures;
    const bool is_lost = may_fail && chance.fires("loss", faults.loss);
    const bool is_corrupted = may_fail && !is_lost && chance.fires("corruption", faults.corruption);
    failures += is_lost || is_corrupted;
    if (is_lost || broken.contains(path) || (drop && drop(what)))
        return transport::transmission::sent;
    if (is_corrupted) bytes[chance.pick(static_cast<std::uint32_t>(bytes.size()), "byte")] ^= 0x10;
    simulated_end& to = *ends[1 - from.index];
    const unsigned copies = chance.fires("duplication", faults.duplication) ? 2 : 1;
    for (unsigned i = 0; i < copies; ++i) {
        const auto extra = static_cast<std::uint32_t>(faults.jitter);
        schedule(5 + (extra != 0 ? chance.pick(extra, "jitter") : 0), [this, &to, bytes, path] {
            arrive(to, bytes, path);
            to.engine->run();
        });
    }
    return transport::transmission::sent;
}

inline bool simulated_pair::step() {
    simulated_end* expiring = nullptr;
    for (const auto& each : ends)
        if (each->timer != 0 && (expiring == nullptr || each->timer < expiring->timer))
            expiring = each.get();
    if (expiring == nullptr && events_.empty()) return false;
    if (expiring != nullptr &&
        (events_.empty() || expiring->timer <= events_.begin()->first.first)) {
        now = std::max(now, expiring->timer);
        expiring->timer = 0;
        expiring->engine->timer_expired();
        return true;
    }
    const auto next = events_.begin();
    now = std::max(now, next->first.first);
    const std::function<void()> what = std::move(next->second);
    events_.erase(next);
    what();
    return true;
}

// ---- work requests

inline ib_send_wr_t work_request(ib_wr_type_t type, ib_local_ds_t& segment, ULONGLONG wr_id = 1) {
    ib_send_wr_t made{};
    made.wr_id = wr_id;
    made.ds_array = &segment;
    made.num_ds = 1;
    made.wr_type = type;
    made.send_opt = IB_SEND_OPT_SIGNALED;
    return made;
}

inline ib_local_ds_t segment_of(const region& of, ULONG length, ULONGLONG offset = 0) {
    return {of.base + offset, length, of.key};
}

inline ib_send_wr_t remote_request(ib_wr_type_t type, ib_local_ds_t& segment, const region& target,
                                   ULONGLONG offset = 0, ULONGLONG wr_id = 1) {
    ib_send_wr_t made = work_request(type, segment, wr_id);
    made.remote_ops = {target.base + offset, 0, 0, target.key};
    return made;
}

} // namespace irpverbs::testing
