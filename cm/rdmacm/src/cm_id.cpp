#include "cm_id.hpp"

#include "listener.hpp"
#include "lock.hpp"
#include "membership.hpp"

#include <drop_in/verb_call.hpp>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <new>

namespace irpverbs::rdmacm {

namespace {

/// Programs acknowledge events on their own threads.
struct acknowledgements {
    std::mutex lock;
    std::condition_variable came;
};

acknowledgements& all_acknowledgements() {
    static auto* const only = new acknowledgements; // programs may use ids while they exit
    return *only;
}

// No event of the id is taken any more.
void await_acknowledgements(const cm_id& id) {
    std::unique_lock guard(all_acknowledgements().lock);
    all_acknowledgements().came.wait(guard,
                                     [&] { return id.events_acknowledged == id.events_taken; });
}

template <class Object>
void close_object(const cm_id& id, NTSTATUS (*verb)(Object*, IRP*), Object* object) {
    if (object == nullptr) return;
    drop_in::call_verb(id.at->device->fdo, [&](IRP* irp) { verb(object, irp); });
}

} // namespace

int as_result(int error) {
    if (error == 0) return 0;
    errno = error;
    return -1;
}

cm_id::cm_id()
    : rdma_cm_id{}, use(*this), resolve(operations, this, resolve_ended),
      request(operations, this, request_ended),
      disconnect(operations, this, disconnect_ended), ends{connection_end(*this),
                                                           connection_end(*this)} {
    ExInitializeRundownProtection(&operations);
}

ib_qp_type_t cm_id::connection_type() const {
    switch (qp_type) {
    case IBV_QPT_UC:
        return IB_QPT_UNRELIABLE_CONN;
    case IBV_QPT_XRC_SEND:
        return IB_QPT_XRC_INI;
    case IBV_QPT_XRC_RECV:
        return IB_QPT_XRC_TGT;
    default:
        return IB_QPT_RELIABLE_CONN;
    }
}

cm_id::~cm_id() { std::free(route.path_rec); }

std::unique_ptr<cm_id> cm_id::make(rdma_port_space ps, ibv_qp_type type) noexcept {
    std::unique_ptr<cm_id> made(new (std::nothrow) cm_id);
    if (made == nullptr || !made->resolve.reserve(saa::detail::request_stack_size()) ||
        !made->request.reserve(1) || !made->disconnect.reserve(1) || !made->ends[0].reserve() ||
        !made->ends[1].reserve())
        return nullptr;
    made->removed.reset(new (std::nothrow) queued_event);
    if (made->removed == nullptr) return nullptr;
    made->ps = ps;
    made->qp_type = type;
    return made;
}

namespace {

// The caller holds the lock.
bool add_counted(cm_id& counted_by, event_ptr& made) {
    if (counted_by.is_destroyed) return false;
    made->counted_by = &counted_by;
    if (made->listen_id != nullptr) made->id->channel = counted_by.channel;
    event_channel::of(counted_by.channel).add(std::move(made));
    return true;
}

} // namespace

bool cm_id::emit(cm_id& counted_by, event_ptr& made) {
    const state_lock guard;
    return add_counted(counted_by, made);
}

void cm_id::emit(event_ptr made, rdma_cm_event_type type, int status) {
    const state_lock guard;
    add(std::move(made), type, status);
}

void cm_id::add(event_ptr made, rdma_cm_event_type type, int status) {
    if (made == nullptr) return;
    made->id = this;
    made->event = type;
    made->status = status;
    add_counted(*this, made);
}

void cm_id::report_removal() {
    if (is_destroyed || channel == nullptr || removed == nullptr) return;
    removed->id = this;
    removed->event = RDMA_CM_EVENT_DEVICE_REMOVAL;
    removed->counted_by = this;
    event_channel::of(channel).add(std::move(removed));
}

void destroy(cm_id* id) {
    std::vector<event_ptr> unread;
    {
        const state_lock guard;
        id->is_destroyed = true;
        unread = event_channel::of(id->channel).remove(*id);
    }
    await_acknowledgements(*id);
    for (operation* const each :
         {&id->resolve, &id->request, &id->disconnect, &id->ends[0].wait, &id->ends[1].wait})
        each->cancel();
    for (const auto& each : id->listeners)
        each->next.cancel();
    for (const auto& each : id->groups)
        each->leave();
    ExWaitForRundownProtectionRelease(&id->operations);
    for (const auto& each : id->listeners)
        each->close();
    close_object(*id, CmCloseConnection, id->connection.load());
    close_object(*id, CmCloseUdRequest, id->ud_request);
    for (const event_ptr& each : unread)
        if (each->event == RDMA_CM_EVENT_CONNECT_REQUEST) destroy(&cm_id::of(each->id));
    release_port(*id);
    delete id;
}

} // namespace irpverbs::rdmacm

using namespace irpverbs::rdmacm;

extern "C" {

int irpverbs_rdma_take_event(rdma_event_channel* shown, rdma_cm_event** taken) {
    event_ptr first;
    auto outcome = event_channel::outcome::none;
    {
        const state_lock guard;
        outcome = event_channel::of(shown).take(first);
        if (first != nullptr) ++first->counted_by->events_taken;
    }
    if (outcome == event_channel::outcome::ended) {
        errno = EIO;
        return -1;
    }
    if (first == nullptr) return 0;
    finish_taken(*first);
    *taken = first.release();
    return 1;
}

int irpverbs_rdma_ack_cm_event(rdma_cm_event* shown) {
    if (shown == nullptr) return as_result(EINVAL);
    const event_ptr ended(&queued_event::of(shown));
    acknowledgements& all = all_acknowledgements();
    const std::lock_guard guard(all.lock);
    ++ended->counted_by->events_acknowledged;
    all.came.notify_all();
    return 0;
}

} // extern "C"
