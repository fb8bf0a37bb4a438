// An end of connections on a port of the software fabric: communication management, queue pairs,
// and the verbs of cm/cm.h as blocking calls.
#pragma once

#include "../hca/mad_client.hpp"

#include <cm/cm.h>

#include <cstring>
#include <optional>
#include <string_view>

namespace irpverbs::testing {

inline constexpr ib_svc_id_t service = 0x1000'0000'0000'0042;
inline constexpr ib_cm_listen_t of_datagrams{service, 0, 0, 0, nullptr, IB_CM_LISTEN_DATAGRAMS};

/// An IB_CM for the life of the scope.
class open_cm {
public:
    explicit open_cm(IB_CA* ca, ULONG flags = IB_CM_OPEN_WITHOUT_SA)
        : cm_(created<IB_CM>([=](IRP* irp) { return CmOpen(ca, 1, flags, irp); })) {}
    ~open_cm() { EXPECT_STREQ(name_of(close()), "STATUS_SUCCESS"); }
    open_cm(const open_cm&) = delete;
    open_cm& operator=(const open_cm&) = delete;

    NTSTATUS close() {
        if (cm_ == nullptr) return STATUS_SUCCESS;
        const NTSTATUS status = verb_call([&](IRP* irp) { return CmClose(cm_, irp); }).status();
        if (status == STATUS_SUCCESS) cm_ = nullptr;
        return status;
    }
    operator IB_CM*() const { return cm_; }
    ib_cm_counters_t counters() const {
        ib_cm_counters_t all{};
        CmQueryCounters(cm_, &all);
        return all;
    }

private:
    IB_CM* cm_;
};

/// A listener for the life of the scope.
class open_listener {
public:
    explicit open_listener(IB_CM* cm, const ib_cm_listen_t& wanted = {service, 0, 0, 0, nullptr, 0})
        : listener_(created<IB_CM_LISTENER>([&](IRP* irp) { return CmListen(cm, &wanted, irp); })) {
    }
    ~open_listener() { close(); }
    open_listener(const open_listener&) = delete;
    open_listener& operator=(const open_listener&) = delete;

    void close() {
        if (listener_ == nullptr) return;
        EXPECT_EQ(verb_call([&](IRP* irp) { return CmCloseListener(listener_, irp); }).status(),
                  STATUS_SUCCESS);
        listener_ = nullptr;
    }
    operator IB_CM_LISTENER*() const { return listener_; }

private:
    IB_CM_LISTENER* listener_;
};

/// A connection for the life of the scope; it may be none.
class open_connection {
public:
    open_connection() = default;
    explicit open_connection(IB_CM_CONNECTION* connection) : connection_(connection) {}
    ~open_connection() { close(); }
    open_connection(open_connection&& other) noexcept
        : connection_(std::exchange(other.connection_, nullptr)) {}
    open_connection& operator=(open_connection&& other) noexcept {
        close();
        connection_ = std::exchange(other.connection_, nullptr);
        return *this;
    }

    void close() {
        if (connection_ == nullptr) return;
        EXPECT_EQ(verb_call([&](IRP* irp) { return CmCloseConnection(connection_, irp); }).status(),
                  STATUS_SUCCESS);
        connection_ = nullptr;
    }
    operator IB_CM_CONNECTION*() const { return connection_; }

    NTSTATUS complete(std::string_view data = {}) const {
        return verb_call([&](IRP* irp) {
                   return CmCompleteConnect(connection_, data.data(),
                                            static_cast<ULONG>(data.size()), irp);
               })
            .status();
    }
    /// The status and Information.
    std::pair<NTSTATUS, ULONG_PTR> disconnect(std::string_view data = {}) const {
        verb_call end([&](IRP* irp) {
            return CmDisconnect(connection_, data.data(), static_cast<ULONG>(data.size()), irp);
        });
        const NTSTATUS status = end.status();
        return {status, end.information()};
    }
    NTSTATUS reject(USHORT reason = 0, std::string_view info = {}) const {
        ib_cm_reject_t with{};
        with.reason = reason;
        with.info_length = static_cast<UCHAR>(info.size());
        with.p_info = info.data();
        return verb_call([&](IRP* irp) { return CmReject(connection_, &with, irp); }).status();
    }
    NTSTATUS respond_path(const ib_cm_path_response_t* response = nullptr) const {
        return verb_call([&](IRP* irp) { return CmRespondPath(connection_, response, irp); })
            .status();
    }
    ib_cm_event_t next_event() const {
        ib_cm_event_t next{};
        EXPECT_EQ(verb_call([&](IRP* irp) { return CmGetEvent(connection_, &next, irp); }).status(),
                  STATUS_SUCCESS);
        return next;
    }

private:
    IB_CM_CONNECTION* connection_ = nullptr;
};

/// An HCA with a completion queue.
class cm_end {
public:
    explicit cm_end(ib_guid_t of_hca) : guid(of_hca), ca(HcaFromGuid(of_hca)), port_(ca, 1) {}
    cm_end(const attached& hcas, unsigned which) : cm_end(hcas.guid(which)) {}
    ~cm_end() {
        for (IB_QP* each : qps_)
            EXPECT_EQ(destroy_qp(each), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    }
    cm_end(const cm_end&) = delete;
    cm_end& operator=(const cm_end&) = delete;

    /// A queue pair, which lives as long as the end.
    IB_QP* make_qp(ib_qp_type_t type = IB_QPT_RELIABLE_CONN) {
        qps_.push_back(create_qp(pd, small_qp(cq, type)));
        return qps_.back();
    }
    ib_lid_t lid() const { return port_->Lid; }
    /// The manager of its port: by LID, or by GID on Ethernet, which has none.
    IB_MAD_ADDRESS manager_address() const {
        IB_MAD_ADDRESS to = to_lid(lid());
        if (to.Lid != 0) return to;
        to.Flags = IB_MAD_GRH;
        to.Gid = gid();
        return to;
    }
    ib_gid_t gid() const {
        ib_gid_t first{};
        std::memcpy(&first, reinterpret_cast<const char*>(&*port_) + port_->GidOffset,
                    sizeof(first));
        return first;
    }
    sa_path_record_t path_to(const cm_end& other) const {
        sa_path_record_t path{};
        path.SGID = gid();
        path.DGID = other.gid();
        path.SLID = lid();
        path.DLID = other.lid();
        path.P_Key = IB_PKEY_DEFAULT_FULL;
        path.Mtu = IB_MTU_1024;
        path.PacketLifeTime = 10; // 4 ms
        return path;
    }
    /// The path from its second port.
    sa_path_record_t second_path_to(const cm_end& other) const {
        const port_block second(ca, 2);
        sa_path_record_t path = path_to(other);
        path.SGID = *IbPortGid(&*second, 0);
        path.SLID = second->Lid;
        return path;
    }
    static ib_qp_attr_t attributes(IB_QP* qp) {
        ib_qp_attr_t attr{};
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQueryQp(qp, sizeof(attr), &attr, nullptr, irp);
                  }).status(),
                  STATUS_SUCCESS);
        return attr;
    }
    static ib_qp_state_t state(IB_QP* qp) { return attributes(qp).state; }

    const ib_guid_t guid;
    open_hca ca;
    IB_PD* const pd = allocate_pd(ca);
    IB_CQ* const cq = create_cq(ca, 64);

private:
    port_block port_;
    std::vector<IB_QP*> qps_;
};

/// The parameters of CmConnect, with short times: a peer that does not respond costs 0.3 s.
struct connect_to : ib_cm_connect_t {
    connect_to(IB_QP* qp, const sa_path_record_t& along, ib_svc_id_t id = service) : path(along) {
        CmInitializeConnect(this);
        h_qp = qp;
        svc_id = id;
        p_primary_path = &path;
        max_cm_retries = 3;
        remote_resp_timeout = local_resp_timeout = 14; // 67 ms
    }
    connect_to(const connect_to&) = delete;
    connect_to& operator=(const connect_to&) = delete;

    sa_path_record_t path;
};

/// A call of CmConnect.
struct pending_connect {
    pending_connect(IB_CM* cm, const ib_cm_connect_t& wanted)
        : call([&](IRP* irp) { return CmConnect(cm, &wanted, &reply, irp); }) {}
    NTSTATUS status() { return call.status(); }
    open_connection connection() { return open_connection(call.object<IB_CM_CONNECTION>()); }

    ib_cm_reply_t reply{};
    verb_call call;
};

/// A call of CmGetRequest.
struct pending_request {
    explicit pending_request(IB_CM_LISTENER* from)
        : call([&](IRP* irp) { return CmGetRequest(from, &request, irp); }) {}
    open_connection connection() { return open_connection(call.object<IB_CM_CONNECTION>()); }

    ib_cm_request_t request{};
    verb_call call;
};

/// A call of CmAccept.
struct pending_accept {
    pending_accept(IB_CM_CONNECTION* connection, IB_QP* qp, std::string_view data = {},
                   UCHAR failover = IB_CM_FAILOVER_ACCEPTED) {
        CmInitializeAccept(&wanted);
        wanted.failover = failover;
        wanted.h_qp = qp;
        wanted.p_pdata = data.data();
        wanted.pdata_length = static_cast<UCHAR>(data.size());
        call.send([&](IRP* irp) { return CmAccept(connection, &wanted, irp); });
    }
    /// With a queue pair whose states the client changes.
    pending_accept(IB_CM_CONNECTION* connection, const IB_QP& qp) {
        CmInitializeAccept(&wanted);
        wanted.qpn = qp.Num;
        wanted.resp_res = 3;
        call.send([&](IRP* irp) { return CmAccept(connection, &wanted, irp); });
    }
    NTSTATUS status() { return call.status(); }

    ib_cm_accept_t wanted{};
    verb_call call;
};

/// A call of CmLoadPath.
struct pending_path {
    pending_path(IB_CM_CONNECTION* connection, const sa_path_record_t& path,
                 std::string_view data = {})
        : call([&](IRP* irp) {
              return CmLoadPath(connection, &path, data.data(), static_cast<ULONG>(data.size()),
                                &response, irp);
          }) {}
    NTSTATUS status() { return call.status(); }

    ib_cm_path_response_t response{};
    verb_call call;
};

/// The parameters of CmResolveUd, with short times.
struct resolve_at : ib_cm_resolve_ud_t {
    explicit resolve_at(const sa_path_record_t& along, ib_svc_id_t id = service) : path(along) {
        CmInitializeResolveUd(this);
        svc_id = id;
        p_path = &path;
        max_cm_retries = 3;
        remote_resp_timeout = 14; // 67 ms
    }
    resolve_at(const resolve_at&) = delete;
    resolve_at& operator=(const resolve_at&) = delete;

    sa_path_record_t path;
};

/// A call of CmResolveUd.
struct pending_resolution {
    pending_resolution(IB_CM* cm, const ib_cm_resolve_ud_t& wanted)
        : call([&](IRP* irp) { return CmResolveUd(cm, &wanted, &reply, irp); }) {}
    NTSTATUS status() { return call.status(); }

    ib_cm_ud_reply_t reply{};
    verb_call call;
};

/// A peer's request for a datagram service, for the life of the scope; it may be none.
class open_ud_request {
public:
    explicit open_ud_request(IB_CM_UD_REQUEST* request) : request_(request) {}
    ~open_ud_request() { close(); }
    open_ud_request(open_ud_request&& other) noexcept
        : request_(std::exchange(other.request_, nullptr)) {}
    open_ud_request& operator=(open_ud_request&&) = delete;

    void close() {
        if (request_ == nullptr) return;
        EXPECT_EQ(verb_call([&](IRP* irp) { return CmCloseUdRequest(request_, irp); }).status(),
                  STATUS_SUCCESS);
        request_ = nullptr;
    }
    operator IB_CM_UD_REQUEST*() const { return request_; }
    NTSTATUS respond(const ib_cm_ud_response_t& with) const {
        return verb_call([&](IRP* irp) { return CmRespondUd(request_, &with, irp); }).status();
    }

private:
    IB_CM_UD_REQUEST* request_;
};

/// A call of CmGetUdRequest.
struct pending_ud_request {
    explicit pending_ud_request(IB_CM_LISTENER* from)
        : call([&](IRP* irp) { return CmGetUdRequest(from, &request, irp); }) {}
    open_ud_request object() { return open_ud_request(call.object<IB_CM_UD_REQUEST>()); }

    ib_cm_ud_request_t request{};
    verb_call call;
};

inline std::string_view text_in(const UCHAR* data) { return reinterpret_cast<const char*>(data); }

inline void let_pass_ms(LONGLONG time) {
    LARGE_INTEGER due;
    due.QuadPart = -10'000 * time;
    KeDelayExecutionThread(KernelMode, FALSE, &due);
}

/// Two ends, the second of which listens.
struct two_ends {
    two_ends(ib_guid_t first_hca, ib_guid_t second_hca) : one(first_hca), two(second_hca) {}
    explicit two_ends(const attached& hcas) : two_ends(hcas.guid(0), hcas.guid(1)) {}

    cm_end one;
    cm_end two;
    open_cm first{one.ca};
    open_cm second{two.ca};
};

/// An established connection.
struct connected_pair {
    explicit connected_pair(two_ends& ends, ib_qp_type_t type = IB_QPT_RELIABLE_CONN,
                            const std::optional<sa_path_record_t>& alternate = {},
                            UCHAR failover = IB_CM_FAILOVER_ACCEPTED)
        : active_qp(ends.one.make_qp(type)), passive_qp(ends.two.make_qp(type)) {
        const open_listener listener(ends.second);
        connect_to wanted(active_qp, ends.one.path_to(ends.two));
        if (alternate) wanted.p_alt_path = &*alternate;
        pending_connect connect(ends.first, wanted);
        pending_request requested(listener);
        passive = requested.connection();
        request = requested.request;
        pending_accept accept(passive, passive_qp, {}, failover);
        EXPECT_STREQ(name_of(connect.status()), "STATUS_SUCCESS");
        active = connect.connection();
        reply = connect.reply;
        EXPECT_STREQ(name_of(active.complete()), "STATUS_SUCCESS");
        EXPECT_STREQ(name_of(accept.status()), "STATUS_SUCCESS");
    }

    IB_QP* active_qp;
    IB_QP* passive_qp;
    ib_cm_request_t request{};
    ib_cm_reply_t reply{};
    open_connection active;
    open_connection passive;
};

} // namespace irpverbs::testing
