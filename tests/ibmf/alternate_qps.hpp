// Two hosts of the software fabric whose clients have queue pairs of their own, for tests.
#pragma once

#include "ibmf_client.hpp"

#include <support/verbs.hpp>

#include <ibmf/async.hpp>

#include <numeric>

namespace irpverbs::testing {

inline constexpr ib_qkey_t common_qkey = 0x1234;
inline constexpr ibmf_retrans_t patient{6, 1'000'000, 100'000, 0};

inline ib_lid_t lid_of(DEVICE_OBJECT* fdo) {
    IB_CA* const ca = open_ca(fdo);
    const ib_lid_t lid = port_block(ca, 1)->Lid;
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    return lid;
}

/// Two hosts, each behind its own switch.
struct two_hosts {
    ibmf_register_info_t client(unsigned host, ibmf_client_type_t type = UNIVERSAL_CLASS) const {
        return {guids[host], 1, type};
    }

    attached hcas;
    std::array<ib_guid_t, 2> guids{hcas.guid(0), hcas.guid(2)};
    std::array<ib_lid_t, 2> lids{lid_of(hcas.fdo(0)), lid_of(hcas.fdo(2))};
};

/// A queue pair, freed at the end of the scope.
class qp_scope {
public:
    qp_scope(ibmf_handle_t client, uint_t kind, ib_qkey_t q_key = common_qkey) : client_(client) {
        EXPECT_EQ(ibmf_alloc_qp(client, IB_PKEY_DEFAULT_FULL, q_key, kind, &handle), IBMF_SUCCESS);
        EXPECT_EQ(ibmf::query_qp(client, handle, its), IBMF_SUCCESS);
    }
    ~qp_scope() {
        if (handle == nullptr) return;
        ibmf_tear_down_async_cb(client_, handle, 0);
        EXPECT_EQ(ibmf_free_qp(client_, &handle, 0), IBMF_SUCCESS);
    }
    qp_scope(const qp_scope&) = delete;
    qp_scope& operator=(const qp_scope&) = delete;

    void listen(ibmf_msg_cb_t call, void* context) const {
        EXPECT_EQ(ibmf_setup_async_cb(client_, handle, call, context, 0), IBMF_SUCCESS);
    }

    ibmf_qp_handle_t handle = nullptr;
    ibmf::qp_attributes its;

private:
    ibmf_handle_t client_;
};

/// Addresses the message to a queue pair.
inline void address(ibmf_msg_t* msg, ib_lid_t lid, const ibmf::qp_attributes& to) {
    msg->im_local_addr.ia_remote_lid = lid;
    msg->im_local_addr.ia_remote_qno = to.number;
    msg->im_local_addr.ia_p_key = IB_PKEY_DEFAULT_FULL;
    msg->im_local_addr.ia_q_key = to.q_key;
}

/// Responds to messages to a queue pair through that queue pair, from the buffers in which they
/// arrived.
class qp_echo {
public:
    qp_echo(const ibmf_register_info_t& who, uint_t kind, ib_qkey_t q_key = common_qkey)
        : client(who), qp(client.handle, kind, q_key),
          flags_(kind == IBMF_ALT_QP_MAD_RMPP ? IBMF_MSG_TRANS_FLAG_RMPP : 0u) {
        qp.listen(respond, this);
    }
    ~qp_echo() {
        ibmf_tear_down_async_cb(client.handle, qp.handle, 0);
        held_.await_none();
    }

    const client_scope client;
    qp_scope qp;
    std::atomic<bool> silent{false};
    std::atomic<int> requests_received{0};
    ibmf_addr_info_t last_from{};

private:
    static void respond(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<qp_echo*>(context);
        self.held_.enter();
        self.last_from = msg->im_local_addr;
        ++self.requests_received;
        msg->im_msgbufs_send = msg->im_msgbufs_recv;
        if (ib_mad_hdr_t* const header = msg->im_msgbufs_send.im_bufs_mad_hdr; header != nullptr)
            header->R_Method |= MAD_RESPONSE_BIT;
        ibmf_retrans_t times = patient;
        const bool sent =
            !self.silent && ibmf_msg_transport(handle, self.qp.handle, msg, &times, free, context,
                                               self.flags_) == IBMF_SUCCESS;
        if (!sent) free(handle, msg, context);
    }
    static void free(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
        static_cast<qp_echo*>(context)->held_.leave();
    }

    const uint_t flags_;
    busy_count held_;
};

/// A message of bytes that are no MAD.
class raw_message {
public:
    raw_message(ibmf_handle_t client, std::size_t size) : client_(client), bytes_(size) {
        std::iota(bytes_.begin(), bytes_.end(), std::uint8_t{1});
        EXPECT_EQ(ibmf_alloc_msg(client, IBMF_ALLOC_SLEEP, &ibmf_msg), IBMF_SUCCESS);
        ibmf_msg->im_msgbufs_send.im_bufs_cl_data = bytes_.data();
        ibmf_msg->im_msgbufs_send.im_bufs_cl_data_len = size;
    }
    ~raw_message() { EXPECT_EQ(ibmf_free_msg(client_, &ibmf_msg), IBMF_SUCCESS); }
    raw_message(const raw_message&) = delete;
    raw_message& operator=(const raw_message&) = delete;

    int send(ibmf_qp_handle_t qp, uint_t flags = 0) {
        return ibmf_msg_transport(client_, qp, ibmf_msg, nullptr, nullptr, nullptr, flags);
    }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

    ibmf_msg_t* ibmf_msg = nullptr;

private:
    ibmf_handle_t client_;
    std::vector<std::uint8_t> bytes_;
};

/// Keeps the messages that a queue pair receives.
class qp_inbox {
public:
    struct received_message {
        bool has_header;
        std::vector<std::uint8_t> data;
        ibmf_addr_info_t from;
    };

    explicit qp_inbox(const qp_scope& at) {
        KeInitializeSemaphore(&arrived_, 0, 1000);
        at.listen(take, this);
    }
    received_message next() {
        KeWaitForSingleObject(&arrived_, Executive, KernelMode, FALSE, nullptr);
        const KIRQL level = KeAcquireSpinLockRaiseToDpc(&lock_);
        received_message first = std::move(messages_.front());
        messages_.erase(messages_.begin());
        KeReleaseSpinLock(&lock_, level);
        return first;
    }

private:
    static void take(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<qp_inbox*>(context);
        const ibmf_msg_bufs_t& parts = msg->im_msgbufs_recv;
        const auto* const data = static_cast<const std::uint8_t*>(parts.im_bufs_cl_data);
        received_message arrived{parts.im_bufs_mad_hdr != nullptr,
                                 {data, data + parts.im_bufs_cl_data_len},
                                 msg->im_local_addr};
        const KIRQL level = KeAcquireSpinLockRaiseToDpc(&self.lock_);
        self.messages_.push_back(std::move(arrived));
        KeReleaseSpinLock(&self.lock_, level);
        EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
        KeReleaseSemaphore(&self.arrived_, IO_NO_INCREMENT, 1, FALSE);
    }

    KSPIN_LOCK lock_ = 0;
    KSEMAPHORE arrived_;
    std::vector<received_message> messages_;
};

} // namespace irpverbs::testing
