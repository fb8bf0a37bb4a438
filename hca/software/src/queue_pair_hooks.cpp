// The hooks of an engine, and its service by the traffic's DPC.
#include "adapter.hpp"
#include "address_vectors.hpp"
#include "qp_attributes.hpp"
#include "queue_pair.hpp"
#include "shared_receives.hpp"

#include "transport/packet_format.hpp"

#include <algorithm>
#include <utility>

namespace irpverbs::hca_software {

namespace {

HCA_CQ* driver_view(IB_CQ* of) { return reinterpret_cast<HCA_CQ*>(of); }
HCA_SRQ* driver_view(IB_SRQ* of) { return reinterpret_cast<HCA_SRQ*>(of); }

// Null: the queue pair has no such queue.
completion_ring* ring_of(IB_CQ* cq) {
    return cq != nullptr ? &hca_software::ring_of(driver_view(cq)) : nullptr;
}

// Null: the queue pair has a receive queue of its own.
transport::shared_receive_queue* receives_of(const ib_qp_create_t& wanted) {
    if (wanted.h_srq == nullptr) return nullptr;
    return &shared_receives::of(driver_view(wanted.h_srq)).queue;
}

} // namespace

queue_pair::queue_pair(HCA_QP* its, adapter& in)
    : shared(its), hca(in), attr(initial_attributes(*its)),
      memory(in.keys(), its->Pd, in.new_queue_pair()),
      engine(attr, memory, *this, receives_of(its->Create), in.early_packets()),
      sends_to(ring_of(its->Create.h_sq_cq)), receives_to(ring_of(its->Create.h_rq_cq)) {}

void queue_pair::request_service() { hca.traffic().request(*this); }

void queue_pair::receive(packet_queue& arrived, machine_time woken) {
    const both_locks guard(*this);
    woken_until = woken;
    if (resumes_at != 0 && resumes_at <= woken) resumes_at = burst = 0;
    packet_queue seen;
    while (packet* each = arrived.pop()) {
        receive(*each);
        seen.push(each);
    }
    hca.traffic().free(seen);
    if (timer != 0 && timer <= woken) {
        timer = 0;
        engine.timer_expired();
    }
    engine.run();
}

void queue_pair::receive(const packet& what) {
    auto content = transport::parse_transport(*what.payload);
    if (!content) return;
    qp_traffic::capture(*what.at, what);
    if (attr.qp_type == IB_QPT_UNRELIABLE_DGRM) return receive_datagram(what, *content);
    const bool follows = engine.follows(*content);
    if (hca.traffic().accepts(what, follows ? alternate_path_of(attr) : primary_path_of(attr)))
        engine.receive(*content);
    else if (follows)
        engine.refuse_migration();
}

void queue_pair::receive_datagram(const packet& what, transport::packet& content) {
    if (!content.row().has(transport::has_datagram)) return;
    const auto way = hca.traffic().accept_datagram(*this, what);
    if (!way) return;
    content.arrived = &*way;
    engine.receive(content);
}

void queue_pair::report_pending() {
    cq_reports sends = 0;
    cq_reports receives = 0;
    ULONG codes = 0;
    {
        const both_locks guard(*this);
        fail_after_overrun();
        sends = std::exchange(of_sends, 0);
        receives = std::exchange(of_receives, 0);
        codes = std::exchange(events, 0);
        has_reports = false;
    }
    report_cq(driver_view(shared->Create.h_sq_cq), sends);
    report_cq(driver_view(shared->Create.h_rq_cq), receives);
    for (ULONG code = 0; codes >> code != 0; ++code)
        if ((codes >> code & 1) != 0) notify(static_cast<IB_ASYNC_EVENT>(code));
}

void queue_pair::notify(IB_ASYNC_EVENT event) {
    if (event == IB_AE_SRQ_LIMIT_REACHED)
        HcaReportSrqEvent(driver_view(shared->Create.h_srq), event);
    else
        HcaReportQpEvent(shared, event);
}

transport::transmission queue_pair::transmit(const transport::packet& what) {
    return hca.traffic().transmit(*this, what);
}

std::optional<ib_av_attr_t> queue_pair::find_way(const IB_AV& to) {
    const auto& vector = reinterpret_cast<const HCA_AV&>(to);
    if (vector.Pd != shared->Pd) return std::nullopt;
    return way_of(vector);
}

ULONG queue_pair::datagram_limit(const ib_av_attr_t& way) {
    return hca.traffic().datagram_limit(*this, way);
}

// A shared receive queue that is destroyed waits for the locks of all queue pairs.
transport::shared_receive_queue* queue_pair::find_receives(ULONG number) {
    return hca.xrc_srqs().with(
        number, [](shared_receives* found) { return found != nullptr ? &found->queue : nullptr; });
}

// A machine's timer may fire early by its resolution: the engine's clock then has the due time.
machine_time queue_pair::now() {
    return std::max<machine_time>(KeQueryInterruptTime(), woken_until);
}

void queue_pair::set_timer(machine_time due) {
    timer = due;
    hca.traffic().wake_at(*this, due);
}

// A queue in error drops the completion.
[[gnu::noinline]] void queue_pair::complete_and_report(completion_ring& to, const IB_WC& entry,
                                                       cq_reports& reports) {
    const cq_reports added = to.add(entry);
    if (added == 0) return;
    reports |= added;
    has_reports = true;
}

// A queue pair that has lost a completion can't continue. Source: IBA 11.6.3.2 (CQ errors).
void queue_pair::fail_after_overrun() {
    const bool lost = ((of_sends | of_receives) & cq_report::lost) != 0;
    const ib_qp_state_t state = engine.state();
    if (!lost || state == IB_QPS_RESET || state == IB_QPS_ERROR) return;
    report(IB_AE_WQ_FATAL);
    state_changed(IB_QPS_ERROR);
    engine.enter(IB_QPS_ERROR);
}

void queue_pair::report(IB_ASYNC_EVENT event) {
    events |= 1u << event;
    has_reports = true;
}

// The caller holds both locks.
void queue_pair::migration_changed() {
    ++revision;
    straight.examined = 0;
}

void queue_pair::state_changed(ib_qp_state_t to) { HcaSetQpState(shared, to); }

} // namespace irpverbs::hca_software
