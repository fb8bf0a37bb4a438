#include "smp_channel.hpp"

#include <dispatch/support/faults.hpp>
#include <ibmf/ibmf_extras.h>

#include <boost/endian/conversion.hpp>

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

constexpr std::size_t initial_path = 128 - 64; // within the body
constexpr std::size_t attribute_at = 16;       // within the header: attribute, modifier
constexpr std::size_t attribute_size = 8;

constexpr ibmf_retrans_t smp_times{
    .retrans_retries = 3, .retrans_rtv = 100'000, .retrans_rttv = 100'000, .retrans_trans_to = 0};

// A node may respond with another attribute than that of the request.
bool is_of_request(const ibmf_msg_t& message) {
    const auto attribute_of = [](const ibmf_msg_bufs_t& parts) {
        const auto* const header = reinterpret_cast<const std::uint8_t*>(parts.im_bufs_mad_hdr);
        return std::span(header + attribute_at, attribute_size);
    };
    return std::ranges::equal(attribute_of(message.im_msgbufs_send),
                              attribute_of(message.im_msgbufs_recv));
}

smp_response response_in(const ibmf_msg_t& message) {
    smp_response response;
    const ibmf_msg_bufs_t& parts = message.im_msgbufs_recv;
    if (message.im_msg_status != IBMF_SUCCESS || parts.im_bufs_mad_hdr == nullptr ||
        parts.im_bufs_cl_data_len < response.data.size() || !is_of_request(message))
        return response;
    response.received = true;
    constexpr std::uint16_t direction = 0x8000;
    response.status = boost::endian::native_to_big(parts.im_bufs_mad_hdr->Status) & ~direction;
    const auto* const data = static_cast<const std::uint8_t*>(parts.im_bufs_cl_data);
    std::copy_n(data, response.data.size(), response.data.begin());
    return response;
}

} // namespace

int smp_channel::open(ibmf_handle_t client) {
    client_ = client;
    while (transactions_.size() < in_flight_) {
        auto fresh = std::make_unique<transaction>();
        fresh->run = finish;
        fresh->at = this;
        if (ibmf_alloc_msg(client, IBMF_ALLOC_NOSLEEP, &fresh->message) != IBMF_SUCCESS) break;
        ibmf_msg_bufs_t& parts = fresh->message->im_msgbufs_send;
        parts.im_bufs_mad_hdr = reinterpret_cast<ib_mad_hdr_t*>(fresh->header.data());
        parts.im_bufs_cl_hdr = fresh->class_header.data();
        parts.im_bufs_cl_hdr_len = fresh->class_header.size();
        parts.im_bufs_cl_data = fresh->body.data();
        parts.im_bufs_cl_data_len = fresh->body.size();
        free_.push_back(fresh.get());
        transactions_.push_back(std::move(fresh));
    }
    return transactions_.empty() ? IBMF_NO_RESOURCES : IBMF_SUCCESS;
}

void smp_channel::close() {
    for (const auto& each : transactions_)
        ibmf_free_msg(client_, &each->message);
    transactions_.clear();
    free_.clear();
}

void smp_channel::send(smp what, response_handler handler) {
    if (dispatch::detail::fault_point("subnet_manager.smp")) throw std::bad_alloc();
    waiting_.push_back({std::move(what), std::move(handler)});
    start_queued();
}

void smp_channel::start_queued() {
    while (!free_.empty() && !waiting_.empty()) {
        transaction& free = *free_.back();
        free_.pop_back();
        request next = std::move(waiting_.front());
        waiting_.pop_front();
        start(free, std::move(next));
    }
}

void smp_channel::write(transaction& into, const smp& what) {
    const auto hops = static_cast<std::uint16_t>(what.route.size());
    ibmf::store(into.header, {.mgmt_class = MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE,
                              .method = what.method,
                              .class_specific = hops,
                              .transaction_id = ++sent_,
                              .attribute_id = what.attribute,
                              .attribute_modifier = what.modifier});
    ibmf::store(into.class_header, ibmf::smp_header{0, IB_LID_PERMISSIVE, IB_LID_PERMISSIVE});
    into.body.fill(0);
    std::ranges::copy(what.data, into.body.begin());
    std::ranges::copy(what.route, into.body.begin() + initial_path + 1);
    into.message->im_local_addr.ia_remote_lid = IB_LID_PERMISSIVE;
}

void smp_channel::start(transaction& free, request next) {
    free.handler = std::move(next.handler);
    free.response = {};
    int status = IBMF_FAILURE;
    if (!cancelled_ && next.what.route.size() <= ibmf::max_hops) {
        write(free, next.what);
        ibmf_retrans_t given = smp_times;
        status = ibmf_msg_transport(client_, IBMF_QP_HANDLE_DEFAULT, free.message, &given,
                                    on_response, &free, IBMF_MSG_TRANS_FLAG_SEQ);
    }
    if (status == IBMF_BAD_PORT_STATE)
        device_removed_ = true; // the HCA is gone: SMPs pass in any state
    if (status != IBMF_SUCCESS) queue_.post(free);
}

void smp_channel::on_response(ibmf_handle_t, ibmf_msg_t* message, void* context) {
    transaction& done = *static_cast<transaction*>(context);
    done.response = response_in(*message);
    done.at->queue_.post(done);
}

void smp_channel::finish(serial_queue::task& task) {
    transaction& done = static_cast<transaction&>(task);
    smp_channel& self = *done.at;
    const smp_response response = done.response;
    if (!response.received) ++self.missing_responses_;
    const response_handler handler = std::move(done.handler);
    self.free_.push_back(&done);
    self.start_queued();
    handler(response); // may throw
    if (self.cancelled_ && self.idle()) self.ended_();
}

void smp_channel::cancel() {
    cancelled_ = true;
    for (const auto& each : transactions_)
        ibmf_cancel_msg(client_, each->message);
}

} // namespace irpverbs::subnet_manager
