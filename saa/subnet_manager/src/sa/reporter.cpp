#include "reporter.hpp"

#include <ci/mad.h>

#include <iterator>

namespace irpverbs::subnet_manager {

namespace {

constexpr std::uint8_t sa_class_version = 2;
constexpr std::size_t sa_data_size = 200;

// The retries are many, since a subscriber never learns of an event whose Report fails.
constexpr ibmf_retrans_t report_times{
    .retrans_retries = 15, .retrans_rtv = 200'000, .retrans_rttv = 100'000, .retrans_trans_to = 0};

bool was_not_sent(int status) {
    return status == IBMF_BAD_PORT_STATE || status == IBMF_NO_RESOURCES || status == IBMF_NO_MEMORY;
}

} // namespace

void reporter::send(const subscription& to, const ib_mad_notice_t& notice) {
    const receiver who{to.from.lid, to.from.qpn, to.from.pkey, to.from.sl};
    line& its = lines_[who];
    if (its.waiting.size() >= most_waiting) return;
    its.waiting.push_back(notice);
    if (!its.under_way && !its.is_held_up) send_next(who);
}

void reporter::send_next(const receiver& to) {
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
    line& its = lines_[to];
    pack(its.waiting.front(), report.data);
    its.under_way = its.has_first = true;
    its.is_held_up = false;
    port_.send(std::move(report), IBMF_MSG_TRANS_FLAG_SEQ, report_times,
               [here = std::weak_ptr(here_), to](int status) {
                   if (const auto self = here.lock()) (*self)->ended(to, status);
               });
}

void reporter::resume() {
    for (const auto& [to, its] : lines_)
        if (its.is_held_up) send_next(to);
}

void reporter::forget(lid_range lids) {
    const std::uint32_t end = lids.base + lids.size();
    for (auto at = lines_.lower_bound({lids.base, 0, 0, 0});
         at != lines_.end() && std::get<0>(at->first) < end;) {
        line& its = at->second;
        its.waiting.clear();
        its.has_first = its.is_held_up = false;
        at = its.under_way ? std::next(at) : lines_.erase(at);
    }
}

// A Report without a response is finished; a Report that was not sent waits for the next attempt.
void reporter::ended(const receiver& to, int status) {
    const auto at = lines_.find(to);
    line& its = at->second;
    its.under_way = false;
    if (its.has_first && was_not_sent(status)) {
        its.is_held_up = true;
        return;
    }
    if (its.has_first) its.waiting.pop_front();
    if (its.waiting.empty())
        lines_.erase(at);
    else
        send_next(to);
}

} // namespace irpverbs::subnet_manager
