// A client of IBMF for tests: registered for the life of the scope, its messages with their
// buffers, and its callbacks' records.
#pragma once

#include "wire_hca.hpp"

#include <ibmf/ibmf_extras.h>
#include <ibmf/mad.hpp>

#include <gtest/gtest.h>

#include <span>
#include <string>

namespace irpverbs::testing {

/// A client of a class with OUI.
struct vendor {
    ibmf_register_info_t info;
    std::uint32_t oui;
};

struct client_scope {
    client_scope(unsigned end, ibmf_client_type_t type, uint_t flags = 0,
                 ibmf_async_event_cb_t offline = nullptr, void* context = nullptr)
        : client_scope({wire::guids[end], 1, type}, flags, offline, context) {}
    explicit client_scope(ibmf_register_info_t info, uint_t flags = 0,
                          ibmf_async_event_cb_t offline = nullptr, void* context = nullptr) {
        ibmf_impl_caps_t capabilities{};
        EXPECT_EQ(
            ibmf_register(&info, IBMF_VERSION, flags, offline, context, &handle, &capabilities),
            IBMF_SUCCESS);
    }
    explicit client_scope(vendor who, uint_t flags = 0) {
        ibmf_impl_caps_t capabilities{};
        EXPECT_EQ(ibmf_register_oui(&who.info, who.oui, IBMF_VERSION, flags, nullptr, nullptr,
                                    &handle, &capabilities),
                  IBMF_SUCCESS);
    }
    ~client_scope() {
        if (handle == nullptr) return;
        ibmf_tear_down_async_cb(handle, IBMF_QP_HANDLE_DEFAULT, 0);
        EXPECT_EQ(ibmf_unregister(&handle, 0), IBMF_SUCCESS);
    }
    client_scope(const client_scope&) = delete;
    client_scope& operator=(const client_scope&) = delete;

    ibmf_stats_t stats(boolean_t of_port = B_FALSE) const {
        ibmf_stats_t all{};
        EXPECT_EQ(ibmf_query_stats(handle, of_port, &all), IBMF_SUCCESS);
        return all;
    }
    void listen(ibmf_msg_cb_t call, void* context) const {
        EXPECT_EQ(ibmf_setup_async_cb(handle, IBMF_QP_HANDLE_DEFAULT, call, context, 0),
                  IBMF_SUCCESS);
    }

    ibmf_handle_t handle = nullptr;
};

/// The fields of a request.
struct request_of {
    std::uint8_t mgmt_class;
    std::uint8_t method = MAD_METHOD_GET;
    std::uint64_t tid = 1;
    ib_lid_t to = wire::lids[1];
    std::size_t data_size = 64;
};

inline constexpr request_of performance{MAD_MGMT_CLASS_PERF};

/// A message with send buffers of its own. Its callbacks are counted, and a test can wait for them.
class test_message {
public:
    test_message(ibmf_handle_t handle, const request_of& what)
        : handle_(handle), data_(what.data_size) {
        KeInitializeEvent(&completed_, NotificationEvent, FALSE);
        EXPECT_EQ(ibmf_alloc_msg(handle, IBMF_ALLOC_SLEEP, &ibmf_msg), IBMF_SUCCESS);
        const ibmf::class_layout layout = ibmf::layout_of(what.mgmt_class);
        for (std::size_t i = 0; i < data_.size(); ++i)
            data_[i] = static_cast<std::uint8_t>(i * 7 + what.tid);
        ibmf::store(header_, {.mgmt_class = what.mgmt_class,
                              .class_version = static_cast<std::uint8_t>(
                                  what.mgmt_class == MAD_MGMT_CLASS_SUBN_ADM ? 2 : 1),
                              .method = what.method,
                              .transaction_id = what.tid,
                              .attribute_id = 0x35});
        ibmf_msg_bufs_t& parts = ibmf_msg->im_msgbufs_send;
        parts.im_bufs_mad_hdr = reinterpret_cast<ib_mad_hdr_t*>(header_.data());
        parts.im_bufs_cl_hdr = class_header_.data();
        parts.im_bufs_cl_hdr_len = layout.class_header_size;
        parts.im_bufs_cl_data = data_.data();
        parts.im_bufs_cl_data_len = data_.size();
        ibmf_msg->im_local_addr.ia_remote_lid = what.to;
        ibmf_msg->im_local_addr.ia_remote_qno = 1;
        ibmf_msg->im_local_addr.ia_p_key = IB_PKEY_DEFAULT_FULL;
        ibmf_msg->im_local_addr.ia_q_key = IB_QP1_QKEY;
    }
    ~test_message() {
        if (ibmf_msg == nullptr) return;
        if (begun_) wait();
        EXPECT_EQ(ibmf_free_msg(handle_, &ibmf_msg), IBMF_SUCCESS);
    }
    test_message(const test_message&) = delete;
    test_message& operator=(const test_message&) = delete;

    void set_oui(std::uint32_t oui) { ibmf::store_oui(std::span(class_header_).first<4>(), oui); }
    int send(uint_t flags = IBMF_MSG_TRANS_FLAG_SEQ, ibmf_retrans_t times = {}) {
        KeClearEvent(&completed_);
        begun_ = true;
        sent_at_ = KeQueryInterruptTime();
        const int status = ibmf_msg_transport(handle_, qp, ibmf_msg, &times, note, this, flags);
        if (status != IBMF_SUCCESS) begun_ = false;
        return status;
    }
    int send_and_wait(uint_t flags = IBMF_MSG_TRANS_FLAG_SEQ, ibmf_retrans_t times = {}) {
        return ibmf_msg_transport(handle_, qp, ibmf_msg, &times, nullptr, nullptr, flags);
    }
    void wait() { KeWaitForSingleObject(&completed_, Executive, KernelMode, FALSE, nullptr); }
    int status() {
        wait();
        return ibmf_msg->im_msg_status;
    }
    int calls() const { return calls_; }
    /// The time from the call to the callback in 100 ns.
    ULONGLONG took() const { return completed_at_ - sent_at_; }
    KIRQL level() const { return level_; }
    std::span<const std::uint8_t> data() const { return data_; }
    std::span<const std::uint8_t> received() const {
        const ibmf_msg_bufs_t& parts = ibmf_msg->im_msgbufs_recv;
        return {static_cast<const std::uint8_t*>(parts.im_bufs_cl_data), parts.im_bufs_cl_data_len};
    }
    ibmf::mad_header received_header() const {
        return ibmf::load_mad_header(std::span<const std::uint8_t, ibmf::mad_header_size>(
            reinterpret_cast<const std::uint8_t*>(ibmf_msg->im_msgbufs_recv.im_bufs_mad_hdr),
            ibmf::mad_header_size));
    }

    ibmf_msg_t* ibmf_msg = nullptr;
    ibmf_qp_handle_t qp = IBMF_QP_HANDLE_DEFAULT; // that sends it

private:
    static void note(ibmf_handle_t, ibmf_msg_t*, void* context) {
        auto& self = *static_cast<test_message*>(context);
        ++self.calls_;
        self.completed_at_ = KeQueryInterruptTime();
        self.level_ = KeGetCurrentIrql();
        KeSetEvent(&self.completed_, IO_NO_INCREMENT, FALSE);
    }

    ibmf_handle_t handle_;
    std::array<std::uint8_t, ibmf::mad_header_size> header_{};
    std::array<std::uint8_t, 40> class_header_{};
    std::vector<std::uint8_t> data_;
    KEVENT completed_;
    std::atomic<int> calls_{0};
    KIRQL level_ = PASSIVE_LEVEL;
    ULONGLONG sent_at_ = 0;
    ULONGLONG completed_at_ = 0;
    bool begun_ = false;
};

/// An agent that responds to every request with the request's data, from the buffers in which it
/// arrived.
class echo_agent : public client_scope {
public:
    explicit echo_agent(unsigned end, ibmf_client_type_t type = PERF_AGENT, uint_t flags = 0)
        : client_scope(end, type, flags) {
        listen(respond, this);
    }
    explicit echo_agent(ibmf_register_info_t info) : client_scope(info) { listen(respond, this); }
    explicit echo_agent(vendor who) : client_scope(who) { listen(respond, this); }
    ~echo_agent() {
        ibmf_tear_down_async_cb(handle, IBMF_QP_HANDLE_DEFAULT, 0);
        held_.await_none();
    }
    /// Requests are dropped while set.
    std::atomic<bool> silent{false};
    /// Changes the response's header before it is sent.
    std::function<void(ib_mad_hdr_t&)> change;
    std::atomic<int> requests_received{0};

private:
    static void respond(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<echo_agent*>(context);
        ++self.requests_received;
        self.held_.enter();
        msg->im_msgbufs_send = msg->im_msgbufs_recv;
        ib_mad_hdr_t& header = *msg->im_msgbufs_send.im_bufs_mad_hdr;
        header.R_Method |= MAD_RESPONSE_BIT;
        if (self.change) self.change(header);
        const bool sent =
            !self.silent && ibmf_msg_transport(handle, IBMF_QP_HANDLE_DEFAULT, msg, nullptr, free,
                                               context, 0) == IBMF_SUCCESS;
        if (!sent) free(handle, msg, context);
    }
    static void free(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<echo_agent*>(context);
        EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
        self.held_.leave();
    }

    busy_count held_;
};

} // namespace irpverbs::testing
