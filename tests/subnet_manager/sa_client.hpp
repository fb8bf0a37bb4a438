// A client of the subnet administration for tests: one request at a time, by IBMF.
#pragma once

#include "../../saa/src/access/default_retrans.hpp"

#include <ibmf/ibmf.h>
#include <ibmf/mad.hpp>
#include <saa/records.hpp>

#include <ci/mad.h>
#include <dispatch/ke.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <vector>

namespace irpverbs::testing {

struct sa_response {
    int code = IBMF_FAILURE;  // IBMF's
    std::uint16_t status = 0; // the SA's
    std::uint16_t attribute = 0;
    std::size_t offset = 0; // AttributeOffset
    std::vector<std::uint8_t> data;

    template <class Host>
    std::vector<Host> records() const {
        std::vector<Host> all;
        const Host* const none = nullptr;
        const auto table = saa::record_table::parse(saa::layout_of(none),
                                                    static_cast<std::uint16_t>(offset), data);
        for (std::size_t i = 0; table && i < table->size(); ++i)
            all.push_back(*saa::unpack<Host>((*table)[i]));
        return all;
    }
    template <class Host>
    Host record() const {
        return saa::unpack<Host>(data).value_or(Host{});
    }
};

/// A client of class SUBN_ADM_MANAGER; responds to Reports and keeps them.
class sa_client {
public:
    sa_client(ib_guid_t hca, ib_lid_t sa) : sa_(sa) {
        KeInitializeSemaphore(&responses_ready_, 0, 1000);
        ibmf_register_info_t info{hca, 1, SUBN_ADM_MANAGER};
        ibmf_impl_caps_t capabilities{};
        EXPECT_EQ(ibmf_register(&info, IBMF_VERSION,
                                IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_SINGLE_OFFLOAD, nullptr, nullptr,
                                &client_, &capabilities),
                  IBMF_SUCCESS);
        EXPECT_EQ(ibmf_setup_async_cb(client_, IBMF_QP_HANDLE_DEFAULT, reported, this, 0),
                  IBMF_SUCCESS);
    }
    ~sa_client() {
        ibmf_tear_down_async_cb(client_, IBMF_QP_HANDLE_DEFAULT, 0);
        EXPECT_EQ(ibmf_unregister(&client_, 0), IBMF_SUCCESS);
    }
    sa_client(const sa_client&) = delete;
    sa_client& operator=(const sa_client&) = delete;

    std::uint64_t key = 0;
    std::atomic<bool> ignores_reports{false}; // neither responds to Reports nor keeps them
    std::uint8_t class_version = 2;
    std::uint32_t modifier = 0;
    ibmf_retrans_t times{saa::default_retrans.retrans_retries, 100'000, 10'000, 0};

    template <class Host>
    sa_response ask(std::uint8_t method, std::uint16_t attribute, const Host& record,
                    std::uint64_t components) {
        std::vector<std::uint8_t> data(200);
        saa::pack(record, data);
        return ask(method, attribute, data, components);
    }
    template <class Host>
    std::vector<Host> table(const Host& wanted = {}, std::uint64_t components = 0) {
        const sa_response got =
            ask(SA_SUBN_ADM_GET_TABLE, saa::layout_of(&wanted).attribute_id, wanted, components);
        EXPECT_EQ(got.code, IBMF_SUCCESS);
        EXPECT_EQ(got.status, 0);
        return got.records<Host>();
    }

    sa_response ask(std::uint8_t method, std::uint16_t attribute, std::vector<std::uint8_t> data,
                    std::uint64_t components, uint_t flags = IBMF_MSG_TRANS_FLAG_SEQ) {
        alignas(ib_mad_hdr_t) std::array<std::uint8_t, ibmf::mad_header::size> header{};
        std::array<std::uint8_t, ibmf::sa_header::size> class_header{};
        ibmf::store(header, {.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                             .class_version = class_version,
                             .method = method,
                             .transaction_id = ++requests_,
                             .attribute_id = attribute,
                             .attribute_modifier = modifier});
        ibmf::store(class_header, {.sm_key = key, .component_mask = components});
        ibmf_msg_t* message = nullptr;
        EXPECT_EQ(ibmf_alloc_msg(client_, IBMF_ALLOC_SLEEP, &message), IBMF_SUCCESS);
        message->im_msgbufs_send = {reinterpret_cast<ib_mad_hdr_t*>(header.data()),
                                    class_header.data(), class_header.size(), data.data(),
                                    data.size()};
        message->im_local_addr.ia_remote_lid = sa_;
        message->im_local_addr.ia_remote_qno = 1;
        message->im_local_addr.ia_p_key = IB_PKEY_DEFAULT_FULL;
        message->im_local_addr.ia_q_key = IB_QP1_QKEY;
        ibmf_retrans_t given = times;
        sa_response got;
        got.code = ibmf_msg_transport(client_, IBMF_QP_HANDLE_DEFAULT, message, &given, nullptr,
                                      nullptr, flags);
        if (got.code == IBMF_SUCCESS) take(message->im_msgbufs_recv, got);
        EXPECT_EQ(ibmf_free_msg(client_, &message), IBMF_SUCCESS);
        return got;
    }

    /// Waits for the next Report.
    ib_mad_notice_t next_report() {
        KeWaitForSingleObject(&responses_ready_, Executive, KernelMode, FALSE, nullptr);
        KIRQL before = KeAcquireSpinLockRaiseToDpc(&lock_);
        const ib_mad_notice_t first = reports_.front();
        reports_.pop_front();
        KeReleaseSpinLock(&lock_, before);
        return first;
    }

private:
    static void take(const ibmf_msg_bufs_t& parts, sa_response& got) {
        const auto* const header = reinterpret_cast<const std::uint8_t*>(parts.im_bufs_mad_hdr);
        const auto* const class_header = static_cast<const std::uint8_t*>(parts.im_bufs_cl_hdr);
        const auto* const data = static_cast<const std::uint8_t*>(parts.im_bufs_cl_data);
        const ibmf::mad_header response = ibmf::load_mad_header(
            std::span<const std::uint8_t, ibmf::mad_header::size>(header, 24));
        got.status = response.status;
        got.attribute = response.attribute_id;
        got.offset = ibmf::load_sa_header(
                         std::span<const std::uint8_t, ibmf::sa_header::size>(class_header, 20))
                         .attribute_offset;
        got.data.assign(data, data + parts.im_bufs_cl_data_len);
    }
    static void reported(ibmf_handle_t client, ibmf_msg_t* message, void* context) {
        auto& self = *static_cast<sa_client*>(context);
        if (self.ignores_reports) return static_cast<void>(ibmf_free_msg(client, &message));
        sa_response report;
        take(message->im_msgbufs_recv, report);
        KIRQL before = KeAcquireSpinLockRaiseToDpc(&self.lock_);
        self.reports_.push_back(report.record<ib_mad_notice_t>());
        KeReleaseSpinLock(&self.lock_, before);
        message->im_msgbufs_send = message->im_msgbufs_recv;
        message->im_msgbufs_send.im_bufs_mad_hdr->R_Method = SA_SUBN_ADM_REPORT_RESP;
        EXPECT_EQ(ibmf_msg_transport(client, IBMF_QP_HANDLE_DEFAULT, message, nullptr, nullptr,
                                     nullptr, 0),
                  IBMF_SUCCESS);
        ibmf_free_msg(client, &message);
        KeReleaseSemaphore(&self.responses_ready_, IO_NO_INCREMENT, 1, FALSE);
    }

    ib_lid_t sa_;
    ibmf_handle_t client_ = nullptr;
    std::uint64_t requests_ = 0;
    KSPIN_LOCK lock_ = 0;
    KSEMAPHORE responses_ready_{};
    std::deque<ib_mad_notice_t> reports_;
};

} // namespace irpverbs::testing
