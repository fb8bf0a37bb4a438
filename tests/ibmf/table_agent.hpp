// An agent with one table that responds to every request with the table by RMPP.
#pragma once

#include "ibmf_client.hpp"

namespace irpverbs::testing {

class table_agent : public client_scope {
public:
    explicit table_agent(unsigned end)
        : table_agent(ibmf_register_info_t{wire::guids[end], 1, SUBN_ADM_AGENT}) {}
    explicit table_agent(ibmf_register_info_t info) : client_scope(info, IBMF_REG_FLAG_RMPP) {
        listen(respond, this);
    }
    explicit table_agent(vendor who) : client_scope(who, IBMF_REG_FLAG_RMPP) {
        listen(respond, this);
    }
    ~table_agent() {
        ibmf_tear_down_async_cb(handle, IBMF_QP_HANDLE_DEFAULT, 0);
        await_responses();
    }

    void resize(std::size_t bytes) {
        table_.resize(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            table_[i] = static_cast<std::uint8_t>(i * 31 + i / 251);
    }
    std::span<const std::uint8_t> table() const { return table_; }
    std::size_t last_request_size() const { return request_size_; }
    int last_request_status() const { return request_status_; }
    int last_response_status() const { return response_status_; }
    void await_responses() { held_.await_none(); }

    /// Called with the data of each request.
    std::function<void(std::span<const std::uint8_t>)> on_request;
    ibmf_retrans_t times{6, 20'000, 5'000, 0};
    /// While set it answers by one datagram without data.
    std::atomic<bool> as_one_datagram{false};

private:
    static void respond(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<table_agent*>(context);
        self.held_.enter();
        const ibmf_msg_bufs_t& request = msg->im_msgbufs_recv;
        self.request_size_ = request.im_bufs_cl_data_len;
        self.request_status_ = msg->im_msg_status;
        if (self.on_request)
            self.on_request({static_cast<const std::uint8_t*>(request.im_bufs_cl_data),
                             request.im_bufs_cl_data_len});
        msg->im_msgbufs_send = msg->im_msgbufs_recv;
        ib_mad_hdr_t& header = *msg->im_msgbufs_send.im_bufs_mad_hdr;
        header.R_Method = header.R_Method == 0x14 ? 0x94 : 0x92;
        msg->im_msgbufs_send.im_bufs_cl_data = self.table_.data();
        msg->im_msgbufs_send.im_bufs_cl_data_len = self.as_one_datagram ? 0 : self.table_.size();
        const uint_t flags = self.as_one_datagram ? 0 : IBMF_MSG_TRANS_FLAG_RMPP;
        const int status = ibmf_msg_transport(handle, IBMF_QP_HANDLE_DEFAULT, msg, &self.times,
                                              on_sent, context, flags);
        if (status == IBMF_SUCCESS) return;
        msg->im_msg_status = status;
        on_sent(handle, msg, context);
    }
    static void on_sent(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<table_agent*>(context);
        self.response_status_ = msg->im_msg_status;
        EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
        self.held_.leave();
    }

    std::vector<std::uint8_t> table_;
    std::atomic<std::size_t> request_size_{0};
    std::atomic<int> request_status_{0};
    std::atomic<int> response_status_{IBMF_SUCCESS};
    busy_count held_;
};

} // namespace irpverbs::testing
