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
void port::reported(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
    port& self = *static_cast<port*>(context);
    const ibmf::mad_header header = header_of(*msg);
    if (!is_report_of_a_notice(header)) {
        ibmf_free_msg(handle, &msg);
        return;
    }
    const std::optional<subnet_event> event = read_event(msg->im_msgbufs_recv);
    if (event) self.heed(*event);
    self.answer_report(msg);
    if (!event) return;
    const guard under(self);
    if (self.told_.is_new(header.transaction_id, *event)) self.tell(*event);
}

// Invalidates cached paths before the response: after it, the SA assumes that the client knows the
// change.
void port::heed(const subnet_event& event) {
    const bool came = event.what == IBMF_SAA_EVENT_GID_AVAILABLE;
    if (!came && event.what != IBMF_SAA_EVENT_GID_UNAVAILABLE) return;
    const guard under(*this);
    paths_.port_changed(event.details.ie_gid,
                        came ? invalidation::gid_in_service : invalidation::gid_out_of_service);
    lines_.close_all_sent();
}

// The caller holds the lock.
void port::forget_all_paths(invalidation reason) {
    paths_.all_changed(reason);
    lines_.close_all_sent();
}

// Sends the response to the Report's source, in the Report's own buffers.
void port::answer_report(ibmf_msg_t* msg) {
    {
        const guard under(*this);
        begin_use();
    }
    msg->im_msgbufs_send = msg->im_msgbufs_recv;
    msg->im_msgbufs_send.im_bufs_mad_hdr->R_Method = MAD_METHOD_REPORT_RESPONSE;
    const int status =
        ibmf_msg_transport(ibmf_, IBMF_QP_HANDLE_DEFAULT, msg, nullptr, report_answered, this, 0);
    if (status != IBMF_SUCCESS) report_answered(ibmf_, msg, this);
}

void port::report_answered(ibmf_handle_t handle, ibmf_msg_t* msg, void* self) {
    const boost::intrusive_ptr<port> kept(static_cast<port*>(self));
    ibmf_free_msg(handle, &msg);
    kept->end_use();
}

} // namespace irpverbs::saa
