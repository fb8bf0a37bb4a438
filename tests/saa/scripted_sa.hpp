// A subnet administrator with scripted responses, and its client: the two ends of a wire.
#pragma once

#include "../../saa/subnet_manager/src/response_retrans.hpp"

#include <ibmf/ibmf_client.hpp>

#include <ibmf/mad.hpp>
#include <saa/ibmf_saa_extras.h>
#include <saa/records.hpp>

#include <functional>
#include <vector>

namespace irpverbs::testing {

/// A request as the SA receives it.
struct sa_request {
    ibmf::mad_header header;
    ibmf::sa_header sa;
    std::vector<std::uint8_t> data;
    std::uint8_t service_level; // of the request's datagram

    template <class Host>
    Host record() const {
        return saa::unpack<Host>(data).value_or(Host{});
    }
};

/// The response to a request. Fields that are 0 have their regular values.
struct sa_reply {
    std::uint16_t status = 0;
    std::vector<std::uint8_t> data{}; // all records, padded
    std::uint16_t attribute_offset = 0;
    std::uint16_t attribute = 0;
    std::uint8_t method = 0;
    bool silent = false;
};

/// A table of records, packed.
template <class Host>
sa_reply table_of(const std::vector<Host>& records) {
    const saa::record_type& type = saa::layout_of(static_cast<const Host*>(nullptr));
    sa_reply reply;
    reply.attribute_offset = static_cast<std::uint16_t>(records.empty() ? 0 : type.stride() / 8);
    reply.data.resize(records.size() * type.stride());
    for (std::size_t i = 0; i < records.size(); ++i)
        saa::pack(records[i], std::span(reply.data).subspan(i * type.stride()));
    return reply;
}

class scripted_sa : public client_scope {
public:
    using script = std::function<sa_reply(const sa_request&)>;

    explicit scripted_sa(script its_script)
        : client_scope(1, SUBN_ADM_AGENT, IBMF_REG_FLAG_RMPP), script_(std::move(its_script)) {
        listen(asked, this);
    }
    ~scripted_sa() {
        ibmf_tear_down_async_cb(handle, IBMF_QP_HANDLE_DEFAULT, 0);
        held_.await_none();
    }
    /// Sends the client a Report and waits for its response; returns an IBMF_ status.
    int report(const ib_mad_notice_t& notice) {
        test_message out(
            handle, {MAD_MGMT_CLASS_SUBN_ADM, MAD_METHOD_REPORT, ++reports_, wire::lids[0], 200});
        ib_mad_hdr_t& header = *out.ibmf_msg->im_msgbufs_send.im_bufs_mad_hdr;
        header.AttributeID = __builtin_bswap16(MAD_ATTR_ID_NOTICE);
        auto* const data =
            static_cast<std::uint8_t*>(out.ibmf_msg->im_msgbufs_send.im_bufs_cl_data);
        saa::pack(notice, std::span(data, 200));
        const int status = out.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, report_times);
        if (status == IBMF_SUCCESS) {
            EXPECT_EQ(out.received_header().method, MAD_METHOD_REPORT_RESPONSE);
        }
        return status;
    }
    /// The number of requests so far, except those for ClassPortInfo.
    int requests_received() const { return requests_received_; }
    /// RespTimeValue of its ClassPortInfo; OpenSM's is 268 ms.
    std::uint8_t response_time = 16;
    /// Longer than a real machine may stand still.
    ibmf_retrans_t report_times{2, 10'000'000, 10'000, 0};

private:
    /// An outstanding response with its own buffers.
    struct response {
        scripted_sa* of;
        std::array<std::uint8_t, ibmf::mad_header::size> header;
        std::array<std::uint8_t, ibmf::sa_header::size> sa;
        std::vector<std::uint8_t> data;
    };

    static std::uint8_t method_for(std::uint8_t asked) {
        if (asked == SA_SUBN_ADM_SET) return SA_SUBN_ADM_GET_RESP;
        return asked == SA_SUBN_ADM_GET_TRACE_TABLE ? std::uint8_t{SA_SUBN_ADM_GET_TABLE_RESP}
                                                    : static_cast<std::uint8_t>(asked | 0x80);
    }

    sa_reply class_port_info() const {
        ib_mad_classportinfo_t info{};
        info.RespTimeValue = response_time;
        sa_reply reply = table_of<ib_mad_classportinfo_t>({info});
        reply.attribute_offset = 0;
        return reply;
    }

    static sa_request read(const ibmf_msg_t& from) {
        const ibmf_msg_bufs_t& parts = from.im_msgbufs_recv;
        const auto* const block = reinterpret_cast<const std::uint8_t*>(parts.im_bufs_mad_hdr);
        const auto* const data = static_cast<const std::uint8_t*>(parts.im_bufs_cl_data);
        return {ibmf::load_mad_header(std::span<const std::uint8_t, 24>(block, 24)),
                ibmf::load_sa_header(std::span<const std::uint8_t, 20>(
                    static_cast<const std::uint8_t*>(parts.im_bufs_cl_hdr), 20)),
                {data, data + parts.im_bufs_cl_data_len},
                from.im_local_addr.ia_service_level};
    }

    static void asked(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<scripted_sa*>(context);
        self.held_.enter();
        const sa_request request = read(*msg);
        const bool about_itself = request.header.attribute_id == SA_CLASSPORTINFO_ATTRID;
        if (!about_itself) ++self.requests_received_;
        sa_reply reply = about_itself ? self.class_port_info() : self.script_(request);
        auto* const out = new response{&self, {}, {}, std::move(reply.data)};
        if (reply.silent) return sent(handle, msg, out);
        ibmf::mad_header header = request.header;
        header.method = reply.method != 0 ? reply.method : method_for(header.method);
        header.status = reply.status;
        if (header.attribute_id == SA_MULTIPATHRECORD_ATTRID)
            header.attribute_id = SA_PATHRECORD_ATTRID; // IBA o15-0.2.7
        if (reply.attribute != 0) header.attribute_id = reply.attribute;
        ibmf::store(out->header, header);
        ibmf::store(out->sa, {.attribute_offset = reply.attribute_offset});
        msg->im_msgbufs_send = {reinterpret_cast<ib_mad_hdr_t*>(out->header.data()), out->sa.data(),
                                out->sa.size(), out->data.data(), out->data.size()};
        const bool table = reply.status == 0 && (method_for(request.header.method) & 0x10) != 0 &&
                           request.header.method != SA_SUBN_ADM_DELETE;
        ibmf_retrans_t times{subnet_manager::response_retrans.retrans_retries, 20'000, 5'000, 0};
        if (ibmf_msg_transport(handle, IBMF_QP_HANDLE_DEFAULT, msg, &times, sent, out,
                               table ? IBMF_MSG_TRANS_FLAG_RMPP : 0) != IBMF_SUCCESS)
            sent(handle, msg, out);
    }
    static void sent(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        const std::unique_ptr<response> done(static_cast<response*>(context));
        EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
        done->of->held_.leave();
    }

    script script_;
    std::atomic<int> requests_received_{0};
    std::atomic<std::uint64_t> reports_{0};
    busy_count held_;
};

/// A session on the other end, for the life of the scope.
struct session_scope {
    explicit session_scope(ibmf_saa_subnet_event_args_t* events = nullptr, uint_t flags = 0,
                           ib_guid_t port = wire::guids[0]) {
        EXPECT_EQ(ibmf_sa_session_open(port, 0, events, IBMF_VERSION, flags, &handle),
                  IBMF_SUCCESS);
    }
    ~session_scope() {
        if (handle == nullptr) return;
        EXPECT_EQ(ibmf_sa_session_close(&handle, 0), IBMF_SUCCESS);
        EXPECT_EQ(handle, nullptr);
    }
    session_scope(const session_scope&) = delete;
    session_scope& operator=(const session_scope&) = delete;

    ibmf_saa_stats_t stats() const {
        ibmf_saa_stats_t all{};
        EXPECT_EQ(ibmf_saa_query_stats(handle, &all), IBMF_SUCCESS);
        return all;
    }

    ibmf_saa_handle_t handle = nullptr;
};

/// An access and its result, with or without a callback.
template <class Host>
class test_access {
public:
    test_access(std::uint16_t attribute, const Host& wanted, std::uint64_t components,
                ibmf_saa_access_type_t type = IBMF_SAA_RETRIEVE)
        : wanted_(wanted), args_{attribute,    type,    components, &wanted_,
                                 sizeof(Host), nullptr, nullptr} {
        KeInitializeEvent(&completed_, NotificationEvent, FALSE);
    }
    ~test_access() {
        if (begun_) wait();
    }
    test_access(const test_access&) = delete;
    test_access& operator=(const test_access&) = delete;

    /// Sends the request and blocks.
    int ask(const session_scope& by, uint_t flags = 0) {
        void* result = nullptr;
        std::size_t length = 99;
        args_.sq_callback = nullptr;
        status_ = ibmf_sa_access(by.handle, &args_, flags, &length, &result);
        keep(length, result);
        return status_;
    }
    int begin(const session_scope& by, uint_t flags = 0) {
        void* result = nullptr;
        std::size_t length = 99;
        args_.sq_callback = note;
        args_.sq_callback_arg = this;
        begun_ = true;
        const int status = ibmf_sa_access(by.handle, &args_, flags, &length, &result);
        if (status != IBMF_SUCCESS) begun_ = false;
        EXPECT_EQ(length, 0u);
        return status;
    }
    void wait() { KeWaitForSingleObject(&completed_, Executive, KernelMode, FALSE, nullptr); }
    int status() {
        wait();
        return status_;
    }
    int calls() const { return calls_; }
    const std::vector<Host>& records() const { return records_; }
    std::size_t length() const { return length_; }
    KIRQL level() const { return level_; } // of the callback
    KIRQL highest = PASSIVE_LEVEL;         // allowed for the callback
    /// Called from the callback.
    std::function<void()> inside;

private:
    static void note(void* context, size_t length, char* result, int status) {
        auto& self = *static_cast<test_access*>(context);
        self.level_ = KeGetCurrentIrql();
        EXPECT_LE(self.level_, self.highest);
        ++self.calls_;
        self.status_ = status;
        self.keep(length, result);
        if (self.inside) self.inside();
        KeSetEvent(&self.completed_, IO_NO_INCREMENT, FALSE);
    }
    void keep(std::size_t length, void* result) {
        EXPECT_EQ(length == 0, result == nullptr);
        EXPECT_TRUE(status_ == IBMF_SUCCESS || length == 0);
        length_ = length;
        const auto* const records = static_cast<const Host*>(result);
        records_.assign(records, records + length / sizeof(Host));
        std::free(result);
    }

    Host wanted_;
    ibmf_saa_access_args_t args_;
    KEVENT completed_;
    bool begun_ = false;
    std::atomic<int> calls_{0};
    KIRQL level_ = PASSIVE_LEVEL;
    int status_ = IBMF_FAILURE;
    std::size_t length_ = 0;
    std::vector<Host> records_;
};

inline ib_gid_t gid_of(std::uint64_t guid) { return {IB_DEFAULT_GID_PREFIX, guid}; }

inline sa_path_record_t path_to(std::uint64_t guid, ib_lid_t lid) {
    sa_path_record_t path{};
    path.DGID = gid_of(guid);
    path.DLID = lid;
    return path;
}

inline sa_service_record_t service_42() {
    sa_service_record_t record{};
    record.ServiceID = 42;
    return record;
}

inline constexpr std::uint64_t path_ends = SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID;

} // namespace irpverbs::testing
