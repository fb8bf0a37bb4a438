// A query to the subnet administration and its response, by SA access with a callback and by IBMF
// alone. All of this library takes part but the HCA driver, which a stub replaces.
#include "measurements.hpp"

#include <ci/driver.h>
#include <hca/hca.h>
#include <ibmf/mad.hpp>
#include <saa/ibmf_saa_extras.h>
#include <saa/records.hpp>

#include <array>
#include <cstring>
#include <vector>

namespace irpverbs::bench {
namespace {

constexpr ib_guid_t here = 0x10;
constexpr ib_lid_t here_lid = 1;
constexpr ib_lid_t sm_lid = 2;
constexpr std::size_t data_at = ibmf::rmpp_data_offset + ibmf::sa_header::size;

using datagram = std::array<std::uint8_t, IB_MAD_SIZE>;

/// An HCA of one port. It stores requests until respond_to_all(), and responds to each with its own
/// record.
class responder_hca {
public:
    responder_hca() {
        HCA_OPERATIONS_INIT(&operations_);
        operations_.QueryPort = query_port;
        operations_.RegisterMadAgent = register_agent;
        operations_.SendMad = send_mad;
        HCA_DEVICE description;
        HCA_DEVICE_INIT(&description);
        description.Operations = &operations_;
        description.Name = "responder";
        description.NodeGuid = here;
        description.PortCount = 1;
        description.ExtensionSize = sizeof(responder_hca*);
        expect(NT_SUCCESS(HcaCreateDevice(&description, &fdo_)), "HcaCreateDevice");
        *static_cast<responder_hca**>(HcaDeviceExtension(fdo_)) = this;
    }
    ~responder_hca() {
        expect(NT_SUCCESS(HcaRefuseOpen(fdo_)), "HcaRefuseOpen");
        HcaDeleteDevice(fdo_);
    }
    responder_hca(const responder_hca&) = delete;
    responder_hca& operator=(const responder_hca&) = delete;

    /// Responds to all requests, also the ones that the responses cause.
    void respond_to_all() {
        for (; responded_ < asked_.size(); ++responded_) {
            datagram response = asked_[responded_];
            response[3] |= MAD_RESPONSE_BIT;
            IB_MAD_RECEIVED received{};
            received.From.Lid = sm_lid;
            received.From.Qp = 1;
            received.From.QKey = IB_QP1_QKEY;
            received.Data = response.data();
            received.Length = IB_MAD_SIZE;
            HcaReportMad(agent_, &received);
        }
        asked_.clear();
        responded_ = 0;
    }

private:
    static responder_hca& of(DEVICE_OBJECT* device) {
        return **static_cast<responder_hca**>(HcaDeviceExtension(device));
    }
    static NTSTATUS query_port(HCA_CA*, UCHAR, IB_PORT_ATTR* attr, SIZE_T size, IRP* irp) {
        IB_PORT_ATTR fixed{};
        fixed.PortNumber = 1;
        fixed.State = IB_PORT_ACTIVE;
        fixed.PortGuid = here;
        fixed.Lid = here_lid;
        fixed.SmLid = sm_lid;
        fixed.SubnetTimeout = 20; // no timer expires during a slow run
        fixed.GidCount = fixed.PKeyCount = 1;
        const ib_gid_t gid{IB_DEFAULT_GID_PREFIX, here};
        const ib_pkey_t key = IB_PKEY_DEFAULT_FULL;
        const HCA_PORT_TABLES tables{&gid, &key};
        return HcaCopyPortAttributes(&fixed, &tables, attr, size, irp);
    }
    static NTSTATUS register_agent(HCA_MAD_AGENT* agent, IRP*) {
        of(agent->Ca->Device).agent_ = agent;
        return STATUS_SUCCESS;
    }
    static NTSTATUS send_mad(HCA_MAD_AGENT* agent, const IB_MAD_SEND* send, IRP*) {
        std::memcpy(of(agent->Ca->Device).asked_.emplace_back().data(), send->Data, IB_MAD_SIZE);
        return STATUS_SUCCESS;
    }

    HCA_OPERATIONS operations_;
    DEVICE_OBJECT* fdo_ = nullptr;
    HCA_MAD_AGENT* agent_ = nullptr;
    std::vector<datagram> asked_;
    std::size_t responded_ = 0;
};

sa_path_record_t path_wanted(std::uint64_t index) {
    sa_path_record_t wanted{};
    wanted.SGID = {IB_DEFAULT_GID_PREFIX, here};
    wanted.DGID = {IB_DEFAULT_GID_PREFIX, 0x1000 + index};
    wanted.NumbPath = 1;
    return wanted;
}

constexpr std::uint64_t components =
    SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID | SA_PR_COMPMASK_NUMBPATH;

/// Queries by SA access, several outstanding at once.
class access_side {
public:
    access_side() {
        expect(ibmf_sa_session_open(here, 0, nullptr, IBMF_VERSION, IBMF_SAA_SESSION_NO_OFFLOAD,
                                    &session_) == IBMF_SUCCESS,
               "ibmf_sa_session_open");
        hca_.respond_to_all(); // ClassPortInfo
    }
    ~access_side() { ibmf_sa_session_close(&session_, 0); }
    access_side(const access_side&) = delete;
    access_side& operator=(const access_side&) = delete;

    void ask(std::uint64_t index) {
        sa_path_record_t wanted = path_wanted(index);
        ibmf_saa_access_args_t args{SA_PATHRECORD_ATTRID, IBMF_SAA_RETRIEVE, components, &wanted,
                                    sizeof wanted,        on_response,       this};
        std::size_t length = 0;
        void* result = nullptr;
        ibmf_sa_access(session_, &args, 0, &length, &result);
    }
    void respond_to_all() { hca_.respond_to_all(); }
    std::uint64_t completed_queries() const { return completed_queries_; }

private:
    static void on_response(void* context, std::size_t length, char* result, int) {
        auto& self = *static_cast<access_side*>(context);
        if (length == sizeof(sa_path_record_t)) ++self.completed_queries_;
        std::free(result);
    }

    responder_hca hca_;
    ibmf_saa_handle_t session_ = nullptr;
    std::uint64_t completed_queries_ = 0;
};

/// Queries by IBMF, with messages that the client allocated beforehand.
class ibmf_side {
public:
    ibmf_side() : queries_(most) {
        ibmf_register_info_t who{here, 1, SUBN_ADM_MANAGER};
        ibmf_impl_caps_t capabilities{};
        expect(ibmf_register(&who, IBMF_VERSION, IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_NO_OFFLOAD,
                             nullptr, nullptr, &client_, &capabilities) == IBMF_SUCCESS,
               "ibmf_register");
        for (pending_query& each : queries_)
            prepare(each);
    }
    ~ibmf_side() {
        for (pending_query& each : queries_)
            ibmf_free_msg(client_, &each.message);
        ibmf_unregister(&client_, 0);
    }
    ibmf_side(const ibmf_side&) = delete;
    ibmf_side& operator=(const ibmf_side&) = delete;

    void ask(std::uint64_t index) {
        pending_query& by = queries_[index % most];
        ibmf::store(ibmf::header_at<ibmf::mad_header::size>(ibmf::mad_buffer(by.bytes), 0),
                    ibmf::mad_header{.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                                     .class_version = 2,
                                     .method = MAD_METHOD_GET,
                                     .transaction_id = index,
                                     .attribute_id = SA_PATHRECORD_ATTRID});
        ibmf::store(std::span(by.bytes).subspan<ibmf::rmpp_data_offset, ibmf::sa_header::size>(),
                    ibmf::sa_header{0, 0, components});
        saa::pack(path_wanted(index), std::span(by.bytes).subspan(data_at));
        ibmf_retrans_t times{3, 5'000'000, 500'000, 0};
        ibmf_msg_transport(client_, IBMF_QP_HANDLE_DEFAULT, by.message, &times, on_response, this,
                           IBMF_MSG_TRANS_FLAG_SEQ);
    }
    void respond_to_all() { hca_.respond_to_all(); }
    std::uint64_t completed_queries() const { return completed_queries_; }

    static constexpr std::size_t most = 64;

private:
    struct pending_query {
        ibmf_msg_t* message = nullptr;
        datagram bytes{};
    };

    void prepare(pending_query& each) {
        expect(ibmf_alloc_msg(client_, IBMF_ALLOC_SLEEP, &each.message) == IBMF_SUCCESS,
               "ibmf_alloc_msg");
        ibmf_msg_bufs_t& parts = each.message->im_msgbufs_send;
        parts.im_bufs_mad_hdr = reinterpret_cast<ib_mad_hdr_t*>(each.bytes.data());
        parts.im_bufs_cl_hdr = each.bytes.data() + ibmf::rmpp_data_offset;
        parts.im_bufs_cl_hdr_len = ibmf::sa_header::size;
        parts.im_bufs_cl_data = each.bytes.data() + data_at;
        parts.im_bufs_cl_data_len = IB_MAD_SIZE - data_at;
        ibmf_addr_info_t& to = each.message->im_local_addr;
        to.ia_remote_lid = sm_lid;
        to.ia_remote_qno = 1;
        to.ia_p_key = IB_PKEY_DEFAULT_FULL;
        to.ia_q_key = IB_QP1_QKEY;
    }
    static void on_response(ibmf_handle_t, ibmf_msg_t* message, void* context) {
        if (message->im_msg_status == IBMF_SUCCESS)
            ++static_cast<ibmf_side*>(context)->completed_queries_;
    }

    responder_hca hca_;
    ibmf_handle_t client_ = nullptr;
    std::vector<pending_query> queries_;
    std::uint64_t completed_queries_ = 0;
};

/// More transactions than rest in IBMF's table before their slots are used again.
constexpr std::size_t warming_up = 512;

/// Sends each batch of queries, then responds to all. The first batches make the initial
/// allocations.
template <class Side>
void ask_for_paths(run& sample, std::size_t batch) {
    Side by;
    const auto ask_batch = [&] {
        for (std::size_t i = 0; i < batch; ++i)
            by.ask(i);
        by.respond_to_all();
    };
    std::uint64_t before = 0;
    for (; before < warming_up; before += batch)
        ask_batch();
    const std::uint64_t operations = sample.in_batches_of(batch);
    sample.start();
    for (std::uint64_t done = 0; done < operations; done += batch)
        ask_batch();
    sample.stop();
    expect(by.completed_queries() == operations + before, "all are answered");
}

} // namespace

void add_ours_queries(catalog& all) {
    all.add("ours/sa_access_1e3", "a path by SA access, 1,000 asked at once",
            [](run& sample) { ask_for_paths<access_side>(sample, 1000); });
    all.add("ours/sa_by_ibmf", "a path by IBMF, 64 asked at once",
            [](run& sample) { ask_for_paths<ibmf_side>(sample, ibmf_side::most); });
}

} // namespace irpverbs::bench
