#include "listener.hpp"

#include "guarded.hpp"

#include <drop_in/verb_call.hpp>
#include <verbs/objects.hpp>

#include <algorithm>
#include <cerrno>

namespace irpverbs::rdmacm {

namespace {

constexpr ULONG least_backlog = 128;
// Places in the private data of a request: IBA annex A11.
constexpr UCHAR version_offset = 1;
constexpr UCHAR destination_offset = 20;

int error_of_listen(NTSTATUS status) {
    return status == STATUS_OBJECT_NAME_COLLISION ? EADDRINUSE : drop_in::error_of(status);
}

} // namespace

listener::~listener() = default;

int listener::open(int backlog) {
    if (const int error = open_manager(at); error != 0) return error;
    ib_cm_listen_t wanted{};
    wanted.svc_id = owner.service_id(owner.source().port);
    wanted.backlog = std::max(static_cast<ULONG>(std::max(backlog, 0)), least_backlog);
    if (owner.is_datagram()) wanted.flags = IB_CM_LISTEN_DATAGRAMS;
    const ib_cm_ip_t own = wire_addresses(owner.source(), owner.source());
    const auto version = static_cast<UCHAR>(own.ip_version << 4);
    if (owner.source().is_any() && owner.is_of_one_family()) {
        wanted.compare_offset = version_offset;
        wanted.compare_length = sizeof(version);
        wanted.p_compare = &version;
    }
    if (!owner.source().is_any()) {
        wanted.compare_offset = destination_offset;
        wanted.compare_length = sizeof(own.dst);
        wanted.p_compare = own.dst;
    }
    if (!next.reserve(1)) return ENOMEM;
    const drop_in::verb_result opened =
        drop_in::call_verb(at.device->fdo, [&](IRP* irp) { CmListen(at.cm, &wanted, irp); });
    if (!NT_SUCCESS(opened.status)) return error_of_listen(opened.status);
    object_ = reinterpret_cast<IB_CM_LISTENER*>(opened.information);
    return wait();
}

int listener::wait() {
    child_ = cm_id::make(owner.ps, owner.qp_type);
    event_.reset(new (std::nothrow) queued_event);
    if (child_ == nullptr || event_ == nullptr) return ENOMEM;
    next.start([&](IRP* irp) {
        if (owner.is_datagram())
            CmGetUdRequest(object_, &ud_request_, irp);
        else
            CmGetRequest(object_, &request_, irp);
    });
    return 0;
}

// A request that came while the owner is destroyed stays here.
void listener::close() {
    if (child_ != nullptr && child_->at != nullptr) {
        child_->channel = owner.channel;
        destroy(child_.release());
    }
    if (object_ == nullptr) return;
    drop_in::call_verb(at.device->fdo, [&](IRP* irp) { CmCloseListener(object_, irp); });
}

void listener::came(void* context, NTSTATUS status, ULONG_PTR information) {
    listener& self = *static_cast<listener*>(context);
    if (!NT_SUCCESS(status)) return;
    self.child_->bind_to(self.at);
    self.child_->is_passive = true;
    self.child_->stage = progress::connecting;
    self.child_->context = self.owner.context;
    if (self.owner.is_datagram())
        self.take_datagram(information);
    else
        self.take_connection(information);
    self.event_->event = RDMA_CM_EVENT_CONNECT_REQUEST;
    self.event_->id = self.child_.get();
    self.event_->listen_id = &self.owner;
    // The program may take the event, and await the next request, before emit returns.
    cm_id* const child = self.child_.release();
    if (!cm_id::emit(self.owner, self.event_)) self.child_.reset(child);
}

void listener::take_connection(ULONG_PTR object) {
    cm_id& child = *child_;
    child.connection = reinterpret_cast<IB_CM_CONNECTION*>(object);
    child.path = request_.primary_path;
    child.offered_responder_resources = request_.init_depth;
    child.offered_initiator_depth = request_.resp_res;
    rdma_conn_param& param = event_->param.conn;
    param.responder_resources = request_.init_depth;
    param.initiator_depth = request_.resp_res;
    param.flow_control = 1;
    param.retry_count = 7;
    param.rnr_retry_count = 7;
    param.srq = request_.srq;
    param.qp_num = request_.qpn;
    event_->set_private_data({request_.pdata, request_.pdata_length});
    describe(request_.ip);
}

void listener::take_datagram(ULONG_PTR object) {
    child_->ud_request = reinterpret_cast<IB_CM_UD_REQUEST*>(object);
    event_->set_datagram_data({ud_request_.pdata, ud_request_.pdata_length});
    describe(ud_request_.ip);
}

void listener::describe(const ib_cm_ip_t& ip) {
    const std::uint16_t own_port = owner.source().port;
    if (ip.ip_version == 0) return child_->set_source(owner.source());
    child_->set_source(from_wire(ip.ip_version, ip.dst, own_port));
    child_->set_destination(from_wire(ip.ip_version, ip.src, ip.src_port));
    rdma_ib_addr& way = child_->route.addr.addr.ibaddr;
    way.sgid = verbs::as_libibverbs(child_->path.SGID);
    way.dgid = verbs::as_libibverbs(child_->path.DGID);
    way.pkey = htobe16(child_->path.P_Key);
}

} // namespace irpverbs::rdmacm

using namespace irpverbs::rdmacm;

namespace {

int listen_at(cm_id& id, local_port& port, int backlog) {
    return id.listeners.emplace_back(std::make_unique<listener>(id, port))->open(backlog);
}

int listen_everywhere(cm_id& id, int backlog) {
    for (local_device& device : local_devices())
        for (local_port& port : device.ports)
            if (const int error = listen_at(id, port, backlog); error != 0) return error;
    return 0;
}

int claim_number(cm_id& id) {
    if (!id.is_bound()) {
        if (const int error = bind(id, any_address(AF_INET), true); error != 0) return error;
    }
    return claim_alone(id);
}

} // namespace

extern "C" {

int irpverbs_rdma_listen(rdma_cm_id* shown, int backlog) {
    return guarded([&] {
        cm_id& id = cm_id::of(shown);
        if (!id.advance(progress::none, progress::listening)) return EINVAL;
        if (const int error = claim_number(id); error != 0) {
            id.stage = progress::none;
            return error;
        }
        return id.at != nullptr ? listen_at(id, *id.at, backlog) : listen_everywhere(id, backlog);
    });
}

} // extern "C"
