// The events of an open HCA and its objects.
#include "adapter.hpp"
#include "connection.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace irpverbs::hca_user {

using ci::crossing::message;
using ci::crossing::object_type;

namespace {

// Datagrams of an agent that cross at a time.
constexpr unsigned datagram_waits = 8;
constexpr unsigned waits_sent_together = datagram_waits / 2;

bool is_any(std::uint64_t) { return true; }

bool is_port_event(std::uint64_t event) {
    return event >= IB_AE_PORT_ACTIVE && event <= IB_AE_CLIENT_REREGISTER;
}
bool is_cq_event(std::uint64_t event) { return event == IB_AE_CQ_ERROR; }
bool is_qp_event(std::uint64_t event) {
    return (event >= IB_AE_PATH_MIGRATED && event <= IB_AE_SQ_DRAINED) ||
           (event >= IB_AE_LAST_WQE_REACHED && event <= IB_AE_PATH_MIGRATION_ERROR) ||
           event == IB_AE_XRC_DOMAIN_FATAL || event == IB_AE_INVALID_XRCETH;
}
bool is_srq_event(std::uint64_t event) {
    return event == IB_AE_SRQ_LIMIT_REACHED || event == IB_AE_SRQ_FATAL;
}

template <class Shared>
Shared* shared_of(const event_wait& wait) {
    return static_cast<Shared*>(wait.object->object);
}

void report_fatal(const event_wait& wait, std::uint64_t) {
    wait.object->via->begin_fatal(*wait.object);
}
void report_port(const event_wait& wait, std::uint64_t event) {
    wait.object->via->count_port_event();
    HcaReportCaPortEvent(shared_of<HCA_CA>(wait), wait.port, static_cast<IB_ASYNC_EVENT>(event));
}
void report_completion(const event_wait& wait, std::uint64_t) {
    HcaReportCqCompletion(shared_of<HCA_CQ>(wait));
}
void report_cq(const event_wait& wait, std::uint64_t event) {
    HcaReportCqEvent(shared_of<HCA_CQ>(wait), static_cast<IB_ASYNC_EVENT>(event));
}
void report_qp(const event_wait& wait, std::uint64_t event) {
    HcaReportQpEvent(shared_of<HCA_QP>(wait), static_cast<IB_ASYNC_EVENT>(event));
}
void report_srq(const event_wait& wait, std::uint64_t event) {
    HcaReportSrqEvent(shared_of<HCA_SRQ>(wait), static_cast<IB_ASYNC_EVENT>(event));
}
void report_datagram(const event_wait& wait, std::uint64_t) {
    auto* const agent = shared_of<HCA_MAD_AGENT>(wait);
    const IB_MAD_RECEIVED received{wait.datagram.From, wait.datagram.Data, wait.datagram.Length};
    if (wait.datagram.Lost != 0) HcaReportMadsLost(agent, wait.datagram.Lost);
    HcaReportMad(agent, &received);
}

// A verb that completes at once: the daemon has handled the waits that were sent before.
constexpr UCHAR fence_verb = HCA_MN_QUERY_CA;

constexpr event_kind kinds[] = {
    {HCA_MN_GET_CA_FATAL_EVENT, HCA_MN_OPEN_CA, true, is_any, report_fatal},
    {HCA_MN_GET_CA_PORT_EVENT, HCA_MN_OPEN_CA, false, is_port_event, report_port},
    {fence_verb, HCA_MN_OPEN_CA, true, is_any, nullptr},
    {HCA_MN_GET_CQ_COMP_EVENT, HCA_MN_CREATE_CQ, false, is_any, report_completion},
    {HCA_MN_GET_CQ_ASYNC_EVENT, HCA_MN_CREATE_CQ, false, is_cq_event, report_cq, true},
    {HCA_MN_GET_MAD, HCA_MN_REGISTER_MAD_AGENT, false, is_any, report_datagram},
    {HCA_MN_GET_QP_ASYNC_EVENT, HCA_MN_CREATE_QP, false, is_qp_event, report_qp, true},
    {HCA_MN_GET_SRQ_ASYNC_EVENT, HCA_MN_CREATE_SRQ, false, is_srq_event, report_srq, true},
};

UCHAR ports_of(void* ca) { return adapter::of(static_cast<HCA_CA*>(ca)->Device).ports(); }

/// The waits of a kind that an object needs.
unsigned count_of(const event_kind& kind, const user_object& object) {
    if (kind.verb == HCA_MN_GET_CA_PORT_EVENT) return ports_of(object.object);
    return kind.verb == HCA_MN_GET_MAD ? datagram_waits : 1;
}

ULONG datagram_size(const user_object& object) {
    const auto& agent = *static_cast<const HCA_MAD_AGENT*>(object.object);
    return agent.Agent.Attr.QpKind == IB_MAD_QP_OWN_RAW ? ULONG{ci::wire::max_datagram}
                                                        : IB_MAD_SIZE;
}

bool set_up(event_wait& wait, const event_kind& kind, user_object& object, unsigned number) {
    wait.kind = &kind;
    wait.object = &object;
    if (kind.verb == HCA_MN_GET_CA_PORT_EVENT) wait.port = static_cast<UCHAR>(number + 1);
    if (kind.verb != HCA_MN_GET_MAD) return true;
    wait.datagram.Size = datagram_size(object);
    wait.bytes.reset(new (std::nothrow) std::byte[wait.datagram.Size]);
    wait.datagram.Data = wait.bytes.get();
    return wait.bytes != nullptr;
}

bool make_waits(user_object& object) {
    unsigned count = 0;
    for (const event_kind& each : kinds)
        if (each.type == object.type) count += count_of(each, object);
    if (count == 0) return true;
    object.waits.reset(new (std::nothrow) event_wait[count]);
    if (object.waits == nullptr) return false;
    for (const event_kind& each : kinds) {
        if (each.type != object.type) continue;
        for (unsigned i = 0; i < count_of(each, object); ++i)
            if (!set_up(object.waits[object.wait_count++], each, object, i)) return false;
    }
    return true;
}

} // namespace

user_object* user_object::make(object_type type, void* object, connection& via) {
    auto* const made = new (ci::crossing::extension_of(type, object)) user_object(type, object);
    made->via = &via;
    if (make_waits(*made)) return made;
    made->discard();
    return nullptr;
}

IO_STACK_LOCATION event_wait::location() {
    IO_STACK_LOCATION made{};
    made.MinorFunction = kind->verb;
    made.Parameters.Others.Argument1 = object->object;
    if (kind->verb == HCA_MN_GET_MAD) made.Parameters.Others.Argument2 = &datagram;
    if (is_fence()) {
        made.Parameters.Others.Argument2 = &datagram; // room for the size of the attributes
        made.Parameters.Others.Argument3 = reinterpret_cast<PVOID>(sizeof(ULONG));
    }
    made.Parameters.Others.Argument4 = reinterpret_cast<PVOID>(ULONG_PTR{port});
    return made;
}

// False: the connection has ended.
bool connection::begin_wait(event_wait& wait, ci::crossing::outgoing& made) {
    const IO_STACK_LOCATION location = wait.location();
    wait.id = next_id_.fetch_add(1);
    ci::crossing::write_request(location, *this, wait.id, wait.object->handle, made);
    return expect(wait);
}

void connection::send(event_wait& wait) {
    ci::crossing::outgoing made;
    if (begin_wait(wait, made)) send_parts(made.message.list());
}

void connection::send_again(event_wait& wait) {
    if (!wait.is_for_datagrams()) return send(wait);
    user_object& object = *wait.object;
    wait.has_ended = true;
    if (++object.ended_waits < waits_sent_together) return;
    object.ended_waits = 0;
    std::array<ci::crossing::outgoing, waits_sent_together> all;
    ci::crossing::packet together;
    auto next = all.begin();
    for (unsigned i = 0; i < object.wait_count; ++i)
        if (std::exchange(object.waits[i].has_ended, false) && begin_wait(object.waits[i], *next))
            together.add(next++->message);
    if (!together.list().empty()) send_parts(together.list());
}

void connection::report_to_provider(const user_object& of, std::uint64_t event) const {
    const uvp_interface_t* const functions = provider();
    if (functions == nullptr || functions->err_handler == nullptr || !of.is_provided.load()) return;
    const ib_async_event_rec_t record{static_cast<IB_ASYNC_EVENT>(event), of.of_provider};
    functions->err_handler(&record);
}

bool event_wait::is_fence() const { return kind->verb == fence_verb; }
bool event_wait::is_for_datagrams() const { return kind->verb == HCA_MN_GET_MAD; }

// A queue with a ring has its completion events there.
bool event_wait::is_sent() const {
    return !is_fence() && (kind->verb != HCA_MN_GET_CQ_COMP_EVENT || object->queue == nullptr);
}

void connection::begin_fatal(user_object& ca) {
    for (unsigned i = 0; i < ca.wait_count; ++i)
        if (ca.waits[i].is_fence()) {
            ca.waits[i].seen = port_events_;
            send(ca.waits[i]);
        }
}

void connection::on_fence(event_wait& fence) {
    if (fence.seen == port_events_) {
        HcaReportFatal(ca_.Device);
        return;
    }
    fence.seen = port_events_;
    send(fence);
}

// No other reply is handled before this returns, so the datagram remains until it is reported.
bool event_wait::on_reply(connection& from, message reply) {
    IO_STACK_LOCATION here = location();
    ci::crossing::result got;
    if (!ci::crossing::read_reply(reply, here, from, got)) return false;
    if (is_fence()) {
        from.on_fence(*this);
        return true;
    }
    if (got.status == STATUS_INSUFFICIENT_RESOURCES) {
        from.send(*this);
        return true;
    }
    if (got.status != STATUS_SUCCESS) return true; // the object or the HCA ends
    if (!kind->is_known(got.information)) return false;
    if (!kind->is_last) from.send_again(*this);
    if (kind->concerns_provider) from.report_to_provider(*object, got.information);
    kind->report(*this, got.information);
    return true;
}

} // namespace irpverbs::hca_user
