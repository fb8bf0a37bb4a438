// The requests of a connection: from the message to the IRP, from its completion to the reply.
#include "served_connection.hpp"

#include "listener.hpp"

#include <ci/support/requestor.hpp>
#include <dispatch/support/spin_lock.hpp>
#include <hca/hca.h>
#include <irp/mdl.h>

#include <algorithm>
#include <cerrno>

namespace irpverbs::ual {

using ci::action;
using ci::crossing::incoming;
using ci::crossing::message;
using dispatch::detail::spin_guard;
namespace wire = ci::wire;

namespace {

// Bytes of the buffers of all requests of a connection.
constexpr std::size_t max_memory = std::size_t{64} << 20;

} // namespace

// Returns false if the client breaks the protocol, or there is no memory even for a refusal.
bool served_connection::handle_request(int via, const wire::header& head, message received) {
    incoming from;
    NTSTATUS status = ci::crossing::read_request(received, from);
    if (memory_.load() + from.memory > max_memory) {
        status = STATUS_INSUFFICIENT_RESOURCES;
        from.memory = 0;
    }
    served_request::pointer made = served_request::make(*this, via, head, from.memory);
    if (made == nullptr) return false;
    made->verb = from.verb;
    made->waits = from.verb != nullptr && from.verb->does == action::waits;
    if (!charge(*made)) return violation();
    served_request& request = *made.release();
    if (NT_SUCCESS(status)) status = start_request(request, from);
    if (status == STATUS_PENDING) return true;
    request.prepare_failure(status);
    finish(request);
    return true;
}

// This thread alone begins to destroy objects, so those of a post remain during the call; other
// threads use those of receives, and find_object() waits for them. A client
// awaits each reply before its next call: a socket without room for it is a violation.
bool served_connection::handle_posts(int via, message received) {
    wire::posted reply;
    if (via != data_.get() || !posts_.serve(received, reply)) return violation();
    listener_.numbers().served.fetch_add(1);
    std::array<iovec, 1> part{{{&reply, sizeof(reply)}}};
    const int error = ci::detail::send_message(via, part);
    return error == EAGAIN ? violation() : error == 0;
}

// False: the client has more in progress than it may.
bool served_connection::charge(served_request& request) {
    const UAL_OPTIONS& limits = listener_.limits();
    std::atomic<ULONG>& count = request.waits ? waits_ : requests_;
    // A client may end all of its objects at a time.
    const bool ends = request.verb != nullptr && request.verb->does == action::ends;
    const ULONG most =
        request.waits ? limits.MaxWaits : limits.MaxRequests + (ends ? limits.MaxObjects : 0);
    if (count.load() >= most) return false;
    count.fetch_add(1);
    memory_.fetch_add(request.memory);
    const spin_guard guard(lock_);
    ++busy_;
    running_.push_back(request);
    return true;
}

NTSTATUS served_connection::open(served_request& request, std::uint64_t guid) {
    if (hca_ != nullptr) return STATUS_INVALID_DEVICE_STATE;
    DEVICE_OBJECT* const hca = HcaFromGuid(guid);
    if (hca == nullptr) return STATUS_NO_SUCH_DEVICE;
    std::array<int, 2> ends{}; // of the socket for calls
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
        return STATUS_INSUFFICIENT_RESOURCES;
    data_ = ci::detail::unique_descriptor(ends[0]);
    request.passed[static_cast<std::size_t>(wire::open_descriptor::calls)] =
        ci::detail::unique_descriptor(ends[1]);
    posts_.make_rings(ring_quota_, request.passed);
    if (client_memory_ != nullptr && posts_.stores() != nullptr)
        client_memory_->pass_stores_by(*posts_.stores());
    hca_ = hca;
    request.object = hca;
    return STATUS_SUCCESS;
}

NTSTATUS served_connection::find_parent(served_request& request, const incoming& from) {
    if (from.verb->parent == 0) {
        const NTSTATUS status = open(request, from.head.object);
        if (!NT_SUCCESS(status)) return status;
    } else {
        request.object = objects_.object_of(from.verb->parent, from.head.object);
        if (request.object == nullptr) return STATUS_INVALID_HANDLE;
    }
    request.place = objects_.reserve(from.verb->type());
    return request.place != nullptr ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS served_connection::find_object(served_request& request, const incoming& from) {
    switch (from.verb->does) {
    case action::creates:
        return find_parent(request, from);
    case action::ends:
        request.place = objects_.begin_end(from.verb->type(), from.head.object);
        request.object = request.place != nullptr ? request.place->object : nullptr;
        posts_.receives().await_others(); // those that found it before
        break;
    default:
        request.object = objects_.object_of(from.verb->type(), from.head.object);
    }
    return request.object != nullptr ? STATUS_SUCCESS : STATUS_INVALID_HANDLE;
}

// A region that lies in a common buffer of the client has the memory that is mapped here. Without
// room for the mapping it is one of private memory.
NTSTATUS served_connection::map_region(served_request& request, const incoming& from) try {
    if (!passed_) return STATUS_SUCCESS;
    std::shared_ptr<const mapped_buffer> found;
    const NTSTATUS status = buffers_.map(passed_, found);
    if (found == nullptr) return status;
    const std::span<std::byte> whole = found->memory.bytes();
    if (from.head.offset >= whole.size()) return STATUS_INVALID_PARAMETER;
    const std::span<std::byte> rest = whole.subspan(from.head.offset);
    served_object* const region =
        request.place != nullptr ? request.place : objects_.region_of(from.head.object);
    objects_.keep(*region, std::move(found));
    const auto length = static_cast<ULONG>(std::min<std::size_t>(rest.size(), ~ULONG{0}));
    const MDL* const made = IoAllocateMdl(rest.data(), length, FALSE, FALSE, request.irp);
    return made != nullptr ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

// The rings of completions, and common buffers, require this of a verb.
NTSTATUS served_connection::prepare(served_request& request, const incoming& from) {
    const std::uint64_t handle = from.head.object;
    const auto number = static_cast<ULONG>(from.head.number);
    auto& words = IoGetNextIrpStackLocation(request.irp)->Parameters.Others;
    switch (from.verb->code) {
    case HCA_MN_REGISTER_MR:
    case HCA_MN_MODIFY_MR:
        return map_region(request, from);
    case HCA_MN_CREATE_CQ:
        request.place->queue = served_queue::make(*this, ring_quota_, number, request.passed);
        request.queue = request.place->queue.get();
        if (request.queue == nullptr) return STATUS_SUCCESS;
        words.Argument3 = request.queue;
        words.Argument4 = const_cast<IB_CQ_DISPATCH*>(&served_queue::up_calls);
        return STATUS_SUCCESS;
    case HCA_MN_POLL_CQ:
    case HCA_MN_ARM_CQ: // those of a ring are the daemon's
        return objects_.queue_of(handle) == nullptr ? STATUS_SUCCESS
                                                    : STATUS_INVALID_DEVICE_REQUEST;
    case HCA_MN_QUERY_CQ:
        request.queue = objects_.queue_of(handle);
        return STATUS_SUCCESS;
    case HCA_MN_RESIZE_CQ:
        if (!served_queue::can_have(number)) return STATUS_SUCCESS;
        request.queue = objects_.queue_of(handle);
        return request.queue == nullptr ? STATUS_SUCCESS
                                        : request.queue->prepare_resize(number, request.passed);
    default:
        return STATUS_SUCCESS;
    }
}

// STATUS_PENDING: the completion of its IRP finishes the request. Otherwise nothing was sent.
NTSTATUS served_connection::start_request(served_request& request, const incoming& from) {
    NTSTATUS status = find_object(request, from);
    if (NT_SUCCESS(status)) {
        request.irp = IoAllocateIrp(hca_.load()->StackSize, FALSE);
        status = request.irp == nullptr
                     ? STATUS_INSUFFICIENT_RESOURCES
                     : ci::crossing::begin(from, objects_, request.object, request.buffers(),
                                           request.used, *IoGetNextIrpStackLocation(request.irp));
    }
    if (NT_SUCCESS(status)) status = prepare(request, from);
    if (!NT_SUCCESS(status)) {
        IO_STATUS_BLOCK failed{};
        failed.Status = status;
        finish_object(request, failed);
        return status;
    }
    IRP* const irp = request.irp;
    irp->RequestorMode = UserMode;
    irp->Flags |= IRP_BUFFERED_IO; // the message holds all that the parameters name
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoSetCompletionRoutine(irp, completed, &request, TRUE, TRUE, TRUE);
    IoCallDriver(hca_, irp);
    return STATUS_PENDING;
}

namespace {

// The completions in the ring are those of the queue.
void add_filled(const served_request& request, const IO_STATUS_BLOCK& result) {
    constexpr std::size_t end = offsetof(IB_CQ_ATTR, Filled) + sizeof(ULONG);
    if (NT_SUCCESS(result.Status) && result.Information >= end)
        static_cast<IB_CQ_ATTR*>(request.used.value)->Filled += request.queue->filled();
}

// A new queue that the HCA can't arm is left without a ring.
void begin_queue(served_request& request, const IO_STATUS_BLOCK& result) {
    if (!NT_SUCCESS(result.Status)) return;
    if (!request.queue->begin(reinterpret_cast<IB_CQ*>(result.Information))) request.passed = {};
}

void finish_resize(served_request& request, IO_STATUS_BLOCK& result) {
    const bool done = NT_SUCCESS(result.Status);
    request.queue->finish_resize(done);
    if (done) result.Information = static_cast<const IB_CQ*>(request.object)->NumCqes;
}

void finish_queue(served_request& request, IO_STATUS_BLOCK& result) {
    switch (request.verb->code) {
    case HCA_MN_QUERY_CQ:
        return add_filled(request, result);
    case HCA_MN_RESIZE_CQ:
        return finish_resize(request, result);
    default:
        return begin_queue(request, result);
    }
}

} // namespace

NTSTATUS served_connection::completed(DEVICE_OBJECT*, IRP* irp, void* context) {
    auto& request = *static_cast<served_request*>(context);
    served_connection& self = request.owner;
    IO_STATUS_BLOCK result = irp->IoStatus;
    if (request.queue != nullptr) finish_queue(request, result);
    self.finish_object(request, result);
    ci::crossing::write_reply(*request.verb, request.head.id, request.object, result, self.objects_,
                              request.used, request.reply);
    if (!NT_SUCCESS(result.Status)) request.passed = {};
    self.finish(request);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// The object exists from now on, or no longer.
void served_connection::finish_object(served_request& request, IO_STATUS_BLOCK& result) {
    if (request.place == nullptr) return;
    const bool done = NT_SUCCESS(result.Status);
    if (request.verb->does == action::creates && done) {
        request.object = reinterpret_cast<void*>(result.Information);
        if (request.verb->code == HCA_MN_OPEN_CA)
            ci::set_client_memory(static_cast<IB_CA*>(request.object), client_memory_.get());
        objects_.insert(*request.place, request.object);
        result.Information = request.place->handle;
    } else if (request.verb->does == action::ends && !done) {
        objects_.undo_end(*request.place);
    } else {
        request.object = nullptr;
        objects_.remove(*request.place);
    }
}

// Sends the reply. The request may be freed when this returns.
void served_connection::finish(served_request& request) {
    listener_.numbers().served.fetch_add(1);
    bool discarded = false;
    {
        const spin_guard guard(lock_);
        running_.erase(running_.iterator_to(request));
        discarded = closing_;
    }
    if (discarded)
        release(request);
    else
        send(request);
    const spin_guard guard(lock_);
    if (--busy_ == 0 && closing_) KeSetEvent(&idle_, IO_NO_INCREMENT, FALSE);
}

namespace {

// False: the message is to be sent later. A client that is gone needs none.
bool has_room(int error) { return error != EAGAIN && error != ENOBUFS; }

} // namespace

// False: the socket has no room.
bool served_connection::try_to_send(served_request& request) {
    return has_room(
        ci::detail::send_message(request.via, request.reply.message.list(), request.passed));
}

// Replies keep their order behind those that found no room.
void served_connection::send(served_request& request) {
    if (gather(request)) return;
    if (unsent_.load() == 0 && try_to_send(request)) {
        release(request);
        return;
    }
    queue(request);
    wake();
}

void served_connection::queue(served_request& request) {
    const spin_guard guard(lock_);
    out_.push_back(request);
    unsent_.fetch_add(1);
}

// False: the reply is to be sent by itself: another thread makes it, or it has descriptors, or it
// goes to the socket of calls.
bool served_connection::gather(served_request& request) {
    if (KeGetCurrentThread() != thread_ || !gathers_ || request.passed[0] ||
        request.via != control_.get())
        return false;
    if (!together_.add(request.reply.message)) {
        send_gathered();
        together_.add(request.reply.message);
    }
    gathered_.push_back(request);
    return true;
}

void served_connection::send_gathered() {
    if (gathered_.empty()) return;
    const bool sent =
        unsent_.load() == 0 && has_room(ci::detail::send_message(control_.get(), together_.list()));
    together_.clear();
    while (!gathered_.empty()) {
        served_request& each = gathered_.front();
        gathered_.pop_front();
        if (sent)
            release(each);
        else
            queue(each); // which this thread flushes before it sleeps
    }
}

// False: the socket has no room.
bool served_connection::try_to_send_event() {
    const wire::header made{wire::kind::event, 0, {}, 0, 0};
    std::array<iovec, 1> part{{{const_cast<wire::header*>(&made), sizeof(made)}}};
    return has_room(ci::detail::send_message(control_.get(), part));
}

void served_connection::send_event() {
    if (try_to_send_event()) return;
    event_unsent_.store(true);
    wake();
}

// Sends the events and replies for which there is room now.
bool served_connection::flush() {
    if (event_unsent_.exchange(false) && !try_to_send_event()) event_unsent_.store(true);
    while (unsent_.load() != 0) {
        served_request* first = nullptr;
        {
            const spin_guard guard(lock_);
            first = &out_.front();
        }
        if (!try_to_send(*first)) return true;
        {
            const spin_guard guard(lock_);
            out_.pop_front();
            unsent_.fetch_sub(1);
        }
        release(*first);
    }
    return true;
}

// The request leaves its connection, and is freed unless it is being cancelled. It counts until
// its descriptors are closed.
void served_connection::release(served_request& request) {
    std::atomic<ULONG>& count = request.waits ? waits_ : requests_;
    const std::size_t memory = request.memory;
    drop(request);
    memory_.fetch_sub(memory);
    count.fetch_sub(1);
}

void served_connection::drop(served_request& request) {
    {
        const spin_guard guard(lock_);
        if (--request.references != 0) return;
    }
    served_request::free{}(&request);
}

void served_connection::cancel(std::uint64_t id) {
    served_request* found = nullptr;
    {
        const spin_guard guard(lock_);
        const auto place = std::ranges::find_if(running_, [&](const served_request& each) {
            return each.head.id == id && each.irp != nullptr;
        });
        if (place == running_.end()) return;
        found = &*place;
        ++found->references;
    }
    IoCancelIrp(found->irp);
    drop(*found);
}

} // namespace irpverbs::ual
