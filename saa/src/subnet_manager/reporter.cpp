#include "reporter.hpp"

#include <ci/mad.h>

namespace irpverbs::saa {

namespace {

constexpr std::uint8_t sa_class_version = 2;
constexpr std::size_t sa_data_size = 200;

constexpr ibmf_retrans_t report_times{
    .retrans_retries = 3, .retrans_rtv = 200'000, .retrans_rttv = 100'000, .retrans_trans_to = 0};

} // namespace

void reporter::send(const subscription& to, const ib_mad_notice_t& notice) {
    const receiver who{to.from.lid, to.from.qpn, to.from.pkey, to.from.sl};
    std::deque<ib_mad_notice_t>& line = waiting_[who];
    if (line.size() >= most_waiting) return;
    line.push_back(notice);
    if (line.size() == 1) send_next(who);
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
    pack(waiting_[to].front(), report.data);
    port_.send(std::move(report), IBMF_MSG_TRANS_FLAG_SEQ, report_times,
               [here = std::weak_ptr(here_), to](int) {
                   if (const auto self = here.lock()) (*self)->answered(to);
               });
}

// Also one that was not answered is over.
void reporter::answered(const receiver& to) {
    const auto line = waiting_.find(to);
    line->second.pop_front();
    if (line->second.empty())
        waiting_.erase(line);
    else
        send_next(to);
}

} // namespace irpverbs::saa
