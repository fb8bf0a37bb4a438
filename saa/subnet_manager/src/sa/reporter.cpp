#include "reporter.hpp"

#include <ci/mad.h>

#include <iterator>

namespace irpverbs::subnet_manager {

namespace {

constexpr std::uint8_t sa_class_version = 2;
constexpr std::size_t sa_data_size = 200;

// The retries are many, since all clients of the port register again after a Report that fails.
constexpr ibmf_retrans_t report_times{
    .retrans_retries = 15, .retrans_rtv = 200'000, .retrans_rttv = 100'000, .retrans_trans_to = 0};

bool was_not_sent(int status) {
    return status == IBMF_BAD_PORT_STATE || status == IBMF_NO_RESOURCES || status == IBMF_NO_MEMORY;
}

} // namespace

reporter::~reporter() {
    for (const auto& [to, queue] : queues_)
        if (queue.in_flight) port_.cancel(queue.message);
}

void reporter::send(const subscription& to, const ib_mad_notice_t& notice) {
    const destination who{to.from.lid, to.from.qpn, to.from.pkey, to.from.sl};
    report_queue& queue = queues_[who];
    if (queue.waiting.size() >= max_waiting) return static_cast<void>(queue.overflowed = true);
    queue.waiting.push_back(notice);
    if (!queue.in_flight && !queue.must_resend) send_next(who);
}

void reporter::send_next(const destination& to) {
    message_parts report;
    ibmf_addr_info_t& address = report.peer.local;
    address.ia_remote_lid = std::get<0>(to);
    address.ia_remote_qno = std::get<1>(to);
    address.ia_p_key = std::get<2>(to);
    address.ia_q_key = IB_QP1_QKEY;
    address.ia_service_level = std::get<3>(to) & 0xF;
    report.header = {.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                     .class_version = sa_class_version,
                     .method = SA_SUBN_ADM_REPORT,
                     .transaction_id = ++sent_,
                     .attribute_id = SA_NOTICE_ATTRID};
    report.class_header.resize(ibmf::sa_header::size);
    report.data.resize(sa_data_size);
    report_queue& queue = queues_[to];
    pack(queue.waiting.front(), report.data);
    queue.in_flight = queue.first_in_flight = true;
    queue.must_resend = false;
    queue.message = port_.send(std::move(report), IBMF_MSG_TRANS_FLAG_SEQ, report_times,
                               [here = std::weak_ptr(alive_), to](int status) {
                                   if (const auto self = here.lock()) (*self)->on_sent(to, status);
                               });
}

void reporter::resume() {
    for (const auto& [to, queue] : queues_)
        if (queue.must_resend) send_next(to);
}

void reporter::drop(lid_range lids) {
    const std::uint32_t end = lids.base + lids.size();
    for (auto at = queues_.lower_bound({lids.base, 0, 0, 0});
         at != queues_.end() && std::get<0>(at->first) < end;) {
        report_queue& queue = at->second;
        queue.waiting.clear();
        queue.first_in_flight = queue.must_resend = queue.overflowed = false;
        if (queue.in_flight) port_.cancel(queue.message);
        at = queue.in_flight ? std::next(at) : queues_.erase(at);
    }
}

// A Report that was not sent waits for the next attempt.
void reporter::on_sent(const destination& to, int status) {
    const auto at = queues_.find(to);
    report_queue& queue = at->second;
    queue.in_flight = false;
    if (queue.first_in_flight && was_not_sent(status)) {
        queue.must_resend = true;
        return;
    }
    if (queue.overflowed || (queue.first_in_flight && status != IBMF_SUCCESS)) return lose(to);
    if (queue.first_in_flight) queue.waiting.pop_front();
    if (queue.waiting.empty())
        queues_.erase(at);
    else
        send_next(to);
}

void reporter::lose(const destination& to) {
    queues_.erase(to);
    lost_({{}, std::get<0>(to), std::get<1>(to), std::get<2>(to), std::get<3>(to)});
}

} // namespace irpverbs::subnet_manager
