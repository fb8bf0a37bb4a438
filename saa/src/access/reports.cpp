// Reports of the SA. The port responds to a Report before it emits the event.
#include <access/session.hpp>

#include <ibmf/mad.hpp>

namespace irpverbs::saa {

namespace {

ibmf::mad_header header_of(const ibmf_msg_t& message) {
    return ibmf::load_mad_header(std::span<const std::uint8_t, ibmf::mad_header::size>(
        reinterpret_cast<const std::uint8_t*>(message.im_msgbufs_recv.im_bufs_mad_hdr),
        ibmf::mad_header::size));
}

bool is_report_of_a_notice(const ibmf::mad_header& header) {
    return header.method == MAD_METHOD_REPORT && header.attribute_id == MAD_ATTR_ID_NOTICE;
}

std::optional<subnet_event> read_event(const ibmf_msg_bufs_t& parts) {
    const auto notice = unpack<ib_mad_notice_t>(
        {static_cast<const std::uint8_t*>(parts.im_bufs_cl_data), parts.im_bufs_cl_data_len});
    return notice ? event_of(*notice) : std::nullopt;
}

} // namespace

// IBMF calls this function for one message at a time, in the order of arrival.
void session_port::report_received(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
    session_port& self = *static_cast<session_port*>(context);
    const ibmf::mad_header header = header_of(*msg);
    if (!is_report_of_a_notice(header) || !self.is_of_sa(*msg)) {
        ibmf_free_msg(handle, &msg);
        return;
    }
    const std::optional<subnet_event> event = read_event(msg->im_msgbufs_recv);
    if (event) self.invalidate_paths(*event);
    self.respond_to_report(msg);
    if (!event) return;
    const guard locked(self);
    if (self.duplicates_.is_new(header.transaction_id, *event)) self.emit(*event);
}

// Other nodes could report false events. The SA repeats a Report that arrives before this port
// knows its LID. With an LMC a port sends from any LID of its range.
bool session_port::is_of_sa(const ibmf_msg_t& msg) {
    const guard locked(*this);
    const unsigned differing = msg.im_local_addr.ia_remote_lid ^ attributes_.sm_lid;
    return attributes_.sm_lid != 0 && differing >> attributes_.lmc == 0;
}

// Invalidates cached paths before the response: after it, the SA assumes that the client knows the
// change.
void session_port::invalidate_paths(const subnet_event& event) {
    const bool came = event.what == IBMF_SAA_EVENT_GID_AVAILABLE;
    if (!came && event.what != IBMF_SAA_EVENT_GID_UNAVAILABLE) return;
    const guard locked(*this);
    paths_.invalidate_gid(event.details.ie_gid,
                          came ? invalidation::gid_in_service : invalidation::gid_out_of_service);
    queues_.stop_sharing_sent();
}

// The caller holds the lock.
void session_port::invalidate_all_paths(invalidation reason) {
    paths_.invalidate_all(reason);
    queues_.stop_sharing_sent();
}

// Sends the response to the Report's source, in the Report's own buffers.
void session_port::respond_to_report(ibmf_msg_t* msg) {
    {
        const guard locked(*this);
        begin_use();
    }
    msg->im_msgbufs_send = msg->im_msgbufs_recv;
    msg->im_msgbufs_send.im_bufs_mad_hdr->R_Method = MAD_METHOD_REPORT_RESPONSE;
    const int status = ibmf_msg_transport(ibmf_, IBMF_QP_HANDLE_DEFAULT, msg, nullptr,
                                          report_response_sent, this, 0);
    if (status != IBMF_SUCCESS) report_response_sent(ibmf_, msg, this);
}

void session_port::report_response_sent(ibmf_handle_t handle, ibmf_msg_t* msg, void* self) {
    const boost::intrusive_ptr<session_port> kept(static_cast<session_port*>(self));
    ibmf_free_msg(handle, &msg);
    kept->end_use();
}

} // namespace irpverbs::saa
