// A hostile peer: floods of requests, times of hours, any messages in any order. Others keep their
// share of a service, nothing remains, and the memory of a port is bounded.
#include "raw_peer.hpp"

#include <support/both_machines.hpp>
#include <support/exhaustive_gtest.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using dispatch::sim_machine;

/// Machine time passes at no cost.
class CmFloods : public BothMachines {
protected:
    attached hcas;
    cm_end end{hcas, 0};
    cm_end hostile{hcas, 1};
    cm_end other{hcas, 2};
    open_cm manager{end.ca};
    open_cm others_manager{other.ca};
    raw_peer peer{hostile, end};

    cm::req_message request_number(std::uint32_t number) const {
        cm::req_message req = peer.request(number, 0x1000 + number);
        req.remote_response_timeout = 25; // no MRA in between
        return req;
    }
    cm::req_message request_of_hours() const {
        cm::req_message req = peer.request();
        req.primary.local_ack_timeout = req.local_response_timeout = 31;
        return req;
    }
};

TEST_P(CmFloods, RejectedRequests_OldestAreForgotten) {
    const open_listener listener(manager);
    for (std::uint32_t number = 1; number <= 1100; ++number) {
        peer.send(request_number(number));
        pending_request next(listener);
        EXPECT_EQ(next.connection().reject(), STATUS_SUCCESS);
        EXPECT_EQ(peer.receive<cm::rej_message>().remote_id, number);
    }
    EXPECT_EQ(manager.counters().connections, 1024u);
}

TEST_P(CmFloods, RequestWithTimesOfHours_IsForgottenAfterMinutes) {
    const open_listener listener(manager);
    peer.send(request_of_hours());
    pending_request next(listener);
    EXPECT_EQ(next.connection().reject(), STATUS_SUCCESS);
    let_pass_ms(140'000);
    EXPECT_EQ(manager.counters().connections, 0u);
}

TEST_P(CmFloods, ResponseOfHours_IsAwaitedForMinutes) {
    const open_listener listener(manager);
    peer.send(request_of_hours());
    pending_request next(listener);
    const open_connection link = next.connection();
    pending_accept accept(link, end.make_qp());
    const auto rep = peer.receive<cm::rep_message>();
    let_pass_ms(140'000);
    EXPECT_EQ(peer.receive<cm::rep_message>(), rep);
    accept.call.cancel();
    EXPECT_EQ(accept.status(), STATUS_CANCELLED);
}

TEST_P(CmFloods, FullBacklog_RequestOfAnotherPortHasRoom) {
    const open_listener listener(manager, {service, 4, 0, 0, nullptr, 0});
    for (std::uint32_t number = 1; number <= 4; ++number)
        peer.send(request_number(number));
    const connect_to wanted(other.make_qp(), other.path_to(end));
    pending_connect connect(others_manager, wanted);
    const auto rej = peer.receive<cm::rej_message>();
    EXPECT_EQ(rej.remote_id, 4u) << "the newest one";
    EXPECT_EQ(rej.reason, IB_CM_REJ_NO_RESOURCES);
    pending_request first(listener);
    const open_connection held = first.connection();
    EXPECT_EQ(first.request.ca_guid, hostile.guid);
    pending_request second(listener);
    EXPECT_EQ(second.connection().reject(), STATUS_SUCCESS);
    EXPECT_EQ(second.request.ca_guid, other.guid) << "ports take turns";
    EXPECT_EQ(connect.status(), STATUS_REQUEST_NOT_ACCEPTED);
    EXPECT_EQ(connect.reply.rej_reason, IB_CM_REJ_CONSUMER_DEFINED);
}

// The server takes 1 ms for a request; a backlog of hostile requests is always full.
TEST_P(CmFloods, OthersKeepHalfOfTheirRate) {
    const open_listener listener(manager);
    std::atomic<bool> stop{false};
    const system_thread server([&] {
        while (!stop) {
            pending_request next(listener);
            while (!next.call.completes_within(10))
                if (stop) next.call.cancel();
            const open_connection link = next.connection();
            if (link == nullptr) return;
            let_pass_ms(1);
            EXPECT_EQ(link.reject(), STATUS_SUCCESS);
        }
    });
    const auto time_of_20_requests = [&] {
        const ULONGLONG begin = KeQueryInterruptTime();
        for (int i = 0; i < 20; ++i) {
            const connect_to wanted(other.make_qp(), other.path_to(end));
            pending_connect connect(others_manager, wanted);
            EXPECT_EQ(connect.status(), STATUS_REQUEST_NOT_ACCEPTED);
            EXPECT_EQ(connect.reply.rej_reason, IB_CM_REJ_CONSUMER_DEFINED);
        }
        return KeQueryInterruptTime() - begin;
    };
    const ULONGLONG alone = time_of_20_requests();
    std::atomic<bool> flooded{false};
    const system_thread flood([&] {
        for (std::uint32_t number = 1; !stop; ++number) {
            peer.send(request_number(number));
            if (number < 140) continue;
            flooded = true;
            let_pass_ms(1);
        }
    });
    while (!flooded)
        let_pass_ms(1);
    const ULONGLONG beside = time_of_20_requests();
    stop = true;
    EXPECT_LE(beside, 2 * alone);
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(CmFloods);

/// A peer that sends messages of any kind, with ids of the other end, which it has from its
/// messages.
class hostile_peer {
public:
    hostile_peer(sim_machine& sim, raw_peer& peer) : sim_(sim), peer_(peer) {}

    void send_any() {
        switch (drawn(12)) {
        case 0:
            return peer_.send(any_request());
        case 1:
            return peer_.send(with_ids<cm::rep_message>([&](auto& of) {
                of.qpn = number();
                of.ca_guid = number();
                of.responder_resources = of.initiator_depth = byte();
                of.target_ack_delay = byte() & 31;
            }));
        case 2:
            return peer_.send(with_ids<cm::rtu_message>([](auto&) {}));
        case 3:
            return peer_.send(with_ids<cm::rej_message>([&](auto& of) {
                of.reason = static_cast<std::uint16_t>(drawn(40));
                of.info_length = byte() % 73;
            }));
        case 4:
            return peer_.send(with_ids<cm::mra_message>([&](auto& of) {
                of.acknowledged = static_cast<cm::message_kind>(drawn(4));
                of.service_timeout = byte() & 31;
            }));
        case 5:
            return peer_.send(
                with_ids<cm::dreq_message>([&](auto& of) { of.remote_qpn = number(); }));
        case 6:
            return peer_.send(with_ids<cm::drep_message>([](auto&) {}));
        case 7:
            return peer_.send(with_ids<cm::lap_message>([](auto&) {}));
        case 8:
            return peer_.send(with_ids<cm::apr_message>([](auto&) {}));
        case 9: {
            cm::sidr_req_message req = raw_peer::resolution(number());
            req.service_id = service + drawn(2);
            return peer_.send(req);
        }
        case 10: {
            cm::sidr_rep_message rep;
            rep.request_id = number();
            rep.status = byte() % 7;
            rep.qpn = number();
            return peer_.send(rep);
        }
        default:
            return peer_.send_bytes(static_cast<std::uint16_t>(0x10 + drawn(12)),
                                    [&] { return byte(); });
        }
    }
    std::uint64_t drawn(std::uint64_t below) { return sim_.random() % below; }

private:
    std::uint8_t byte() { return static_cast<std::uint8_t>(drawn(256)); }
    // Ids and queue pairs of both ends are small numbers.
    std::uint32_t number() {
        return drawn(8) == 0 ? static_cast<std::uint32_t>(sim_.random())
                             : static_cast<std::uint32_t>(drawn(24));
    }
    cm::req_message any_request() {
        cm::req_message req = peer_.request(number(), 2 + number());
        req.service_id = service + drawn(3);
        req.remote_response_timeout = byte() & 31;
        req.local_response_timeout = byte() & 31;
        req.max_cm_retries = byte() & 15;
        req.primary.local_ack_timeout = byte() & 31;
        if (drawn(4) == 0) req.mtu = byte() & 15;
        if (drawn(4) == 0) req.primary.remote_lid = static_cast<ib_lid_t>(number());
        if (drawn(4) == 0) req.transport = static_cast<cm::transport_service>(drawn(4));
        return req;
    }
    template <class Message, class Change>
    Message with_ids(const Change& change) {
        Message made;
        made.local_id = number();
        made.remote_id = number();
        change(made);
        return made;
    }

    sim_machine& sim_;
    raw_peer& peer_;
};

/// The end under attack: a server and a client, whose calls end as they please.
struct attacked_end {
    attacked_end(sim_machine& its_sim, const attached& hcas)
        : sim(its_sim), end(hcas, 0), hostile(hcas, 1), peer(hostile, end) {}

    std::uint64_t drawn(std::uint64_t below) { return sim.random() % below; }

    void serve() {
        open_listener listener(manager);
        while (!stop) {
            pending_request next(listener);
            while (!next.call.completes_within(50))
                if (stop) next.call.cancel();
            if (next.call.status() != STATUS_SUCCESS) return;
            const open_connection link = next.connection();
            if (drawn(3) == 0) {
                static_cast<void>(link.reject());
            } else if (drawn(2) == 0) {
                pending_accept accept(link, end.make_qp());
                if (!accept.call.completes_within(static_cast<LONGLONG>(drawn(2000))))
                    accept.call.cancel();
            }
        }
    }
    void serve_datagrams() {
        ib_cm_listen_t what = of_datagrams;
        ++what.svc_id;
        open_listener listener(manager, what);
        while (!stop) {
            pending_ud_request next(listener);
            while (!next.call.completes_within(50))
                if (stop) next.call.cancel();
            if (next.call.status() != STATUS_SUCCESS) return;
            const open_ud_request request = next.object();
            ib_cm_ud_response_t with{};
            with.qpn = 2;
            if (drawn(2) == 0) static_cast<void>(request.respond(with));
        }
    }
    void connect() {
        while (!stop) {
            const connect_to wanted(end.make_qp(), end.path_to(hostile));
            pending_connect call(manager, wanted);
            if (!call.call.completes_within(static_cast<LONGLONG>(drawn(1000)))) call.call.cancel();
            if (call.status() == STATUS_SUCCESS) {
                const open_connection link = call.connection();
                if (link.complete() == STATUS_SUCCESS && drawn(2) == 0)
                    static_cast<void>(link.disconnect());
            }
            const resolve_at service_of(end.path_to(hostile));
            pending_resolution resolution(manager, service_of);
            if (!resolution.call.completes_within(static_cast<LONGLONG>(drawn(300))))
                resolution.call.cancel();
        }
    }

    sim_machine& sim;
    cm_end end;
    cm_end hostile;
    open_cm manager{end.ca};
    raw_peer peer;
    std::atomic<bool> stop{false};
};

// IRPVERBS_SEEDS=1000 cm_test --gtest_filter='CmHostilePeer.*' sends 10^7 messages.
TEST(CmHostilePeer, AnyMessages_EveryCallEndsAndNothingRemains) {
    dispatch::explore_options options;
    options.random_runs = 100;
    options.pct_runs = 0;
    options.machine.step_limit = 2'000'000;
    ULONGLONG established = 0;
    const dispatch::explore_summary seen = expect_explored(options, [&](sim_machine& sim) {
        const attached hcas;
        attacked_end attacked(sim, hcas);
        sim.spawn("server", [&] { attacked.serve(); });
        sim.spawn("datagrams", [&] { attacked.serve_datagrams(); });
        sim.spawn("client", [&] { attacked.connect(); });
        sim.spawn("hostile peer", [&] {
            hostile_peer peer(sim, attacked.peer);
            for (int i = 0; i < 100; ++i) {
                peer.send_any();
                let_pass_ms(static_cast<LONGLONG>(peer.drawn(20)));
            }
            attacked.stop = true;
        });
        sim.run();
        const ib_cm_counters_t after = attacked.manager.counters();
        established += after.received - after.malformed - after.unexpected;
        sim.end_delays();
        let_pass_ms(3'000'000); // REP is repeated up to 15 times, each time for 138 s at most
        EXPECT_EQ(attacked.manager.counters().connections, 0u);
        EXPECT_EQ(attacked.manager.counters().resolutions, 0u);
    });
    EXPECT_GT(established, 10 * seen.runs()) << "messages that all are ignored test nothing";
}

} // namespace
