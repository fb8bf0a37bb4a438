#include "connection.hpp"

#include "adapter.hpp"

#include <ci/support/address_space.hpp>
#include <dispatch/machine.hpp>
#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

namespace irpverbs::hca_user {

using ci::crossing::message;
using ci::crossing::object_type;
using ci::crossing::post_rings;
using dispatch::detail::spin_guard;
namespace wire = ci::wire;

namespace {

// Messages that one call of the reactor handles.
constexpr int turn = 64;

known_region memory_of(const HCA_MR& mr, const ib_mr_create_t& region) {
    return {{}, mr.Mr.LKey, reinterpret_cast<std::uintptr_t>(region.vaddr), region.length};
}

constexpr std::size_t data_buffer_size = wire::max_block + 1024;

NTSTATUS status_of(int error) {
    switch (error) {
    case EACCES:
    case EPERM:
        return STATUS_ACCESS_DENIED;
    case ENOENT:
    case ECONNREFUSED:
        return STATUS_DEVICE_NOT_CONNECTED;
    default:
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

} // namespace

connection::connection(HCA_CA& ca)
    : ca_(ca), buffer_(wire::max_message), post_buffer_(wire::max_message),
      data_buffer_(data_buffer_size) {}

connection::~connection() { watch_.reset(); }

const uvp_interface_t* connection::provider() const { return adapter::of(ca_.Device).provider(); }

// ---- the objects

// An object of another connection is none of this one.
std::uint64_t connection::handle_of(object_type type, void* object) {
    const user_object& found = user_object::of(type, object);
    return found.via == this ? found.handle : 0;
}

void* connection::object_of(object_type type, std::uint64_t handle) {
    const spin_guard guard(lock_);
    const auto found = objects_.find(handle);
    return found != objects_.end() && found->type == type ? found->object : nullptr;
}

bool connection::begin(user_object& object, std::uint64_t handle) {
    object.handle = handle;
    if (object.type == HCA_MN_OPEN_CA && !begin_calls()) return false;
    if (object.type == HCA_MN_CREATE_CQ && passed_[0])
        object.queue = shared_queue::make(static_cast<HCA_CQ*>(object.object), *this, passed_);
    if (object.type == HCA_MN_CREATE_CQ && passed_[0] && object.queue == nullptr) return false;
    begin_counts(object);
    if (object.type == HCA_MN_REGISTER_MR) begin_region(object);
    {
        const spin_guard guard(lock_);
        objects_.insert(object); // a daemon that repeats a handle harms its own replies only
    }
    for (unsigned i = 0; i < object.wait_count; ++i)
        if (object.waits[i].is_sent()) send(object.waits[i]);
    if (object.type == HCA_MN_CREATE_QP) begin_posts(*static_cast<HCA_QP*>(object.object));
    if (object.type == HCA_MN_CREATE_SRQ) begin_posts(*static_cast<HCA_SRQ*>(object.object));
    return true;
}

// Before it is opened, no other thread uses what this sets.
bool connection::begin_calls() {
    data_ = std::move(passed_[static_cast<std::size_t>(wire::open_descriptor::calls)]);
    if (!map_rings()) return false;
    opened_.store(static_cast<bool>(data_));
    return opened_.load();
}

bool connection::map_rings() {
    using ci::detail::shared_memory;
    auto& own = passed_[static_cast<std::size_t>(wire::open_descriptor::posts_of_client)];
    auto& daemons = passed_[static_cast<std::size_t>(wire::open_descriptor::posts_of_daemon)];
    if (!own) return true;
    own_posts_ = shared_memory::map(own, shared_memory::others::may_write);
    daemons_posts_ = shared_memory::map(daemons, shared_memory::others::may_read);
    if (own_posts_.bytes().size() < sizeof(post_rings::client_part) ||
        daemons_posts_.bytes().size() < sizeof(post_rings::daemon_part))
        return false;
    auto& written = *reinterpret_cast<post_rings::client_part*>(own_posts_.bytes().data());
    const auto& read =
        *reinterpret_cast<const post_rings::daemon_part*>(daemons_posts_.bytes().data());
    sends_.emplace(written.sends, read.sends);
    receives_.emplace(written.receives, read.receives);
    if (adapter::of(ca_.Device).checks_memory())
        ci::crossing::store_consumer::refuse_all(written.stores);
    else
        stores_.emplace(read.stores, written.stores);
    return true;
}

// Without memory for the counts, posts are calls.
void connection::begin_counts(user_object& object) {
    if (object.type == HCA_MN_CREATE_SRQ) object.receives.reset(new (std::nothrow) receive_count);
    if (object.type != HCA_MN_CREATE_QP) return;
    const auto& qp = *static_cast<const HCA_QP*>(object.object);
    std::unique_ptr<qp_counts> made(new (std::nothrow) qp_counts(qp.Qp.Num));
    if (made == nullptr || !made->sends.allocate(qp.Qp.SqDepth)) return;
    if (qp.Create.h_srq != nullptr)
        made->shared_receives = user_object::of(HCA_MN_CREATE_SRQ, qp.Create.h_srq).receives.get();
    const spin_guard guard(counts_lock_);
    if (counts_.insert(*made).second) object.counts = std::move(made);
}

void connection::count_completions(std::span<const IB_WC> removed) {
    const spin_guard guard(counts_lock_);
    for (const IB_WC& each : removed)
        if (const auto found = counts_.find(each.QpNumber); found != counts_.end())
            found->complete(each);
}

// ---- the stores of the daemon

// A daemon stores to the memory of regions alone, as an HCA does.
void connection::apply_stores_to(std::uint64_t count) {
    using ci::crossing::store_consumer;
    const auto is_of_region = [this](ULONG key, std::uint64_t address, std::uint64_t size) {
        const auto found = regions_.find(key);
        return found != regions_.end() && found->holds(address, size);
    };
    const spin_guard guard(stores_lock_);
    store_consumer::found last = store_consumer::found::store;
    while (stores_->applied() < count && last == store_consumer::found::store)
        last = stores_->apply_next(is_of_region);
    if (last == store_consumer::found::violation) fail_later();
}

void connection::set_region(known_region& region, const known_region& now) {
    const spin_guard guard(stores_lock_);
    if (region.is_linked()) regions_.erase(regions_.iterator_to(region));
    region.key = now.key;
    region.first = now.first;
    region.size = now.size;
    if (region.size != 0) regions_.insert(region); // a daemon that repeats a key is refused later
}

void connection::begin_region(user_object& object) {
    const auto& mr = *static_cast<const HCA_MR*>(object.object);
    if (mr.Sharing.h_mr == nullptr) return set_region(object.region, memory_of(mr, mr.Create));
    const known_region& other = user_object::of(HCA_MN_REGISTER_MR, mr.Sharing.h_mr).region;
    set_region(object.region, {{}, mr.Mr.LKey, other.first, other.size});
}

// A receive that uses the region sees it as before or as after the change.
void connection::begin_change(user_object& region, const ib_mr_mod_t& wanted) {
    const auto& mr = *static_cast<const HCA_MR*>(region.object);
    const known_region before = memory_of(mr, mr.Create);
    const known_region after = memory_of(mr, HcaModifiedMr(&mr, &wanted));
    known_region both = before;
    both.first = std::min(before.first, after.first);
    both.size = std::max(before.first + before.size, after.first + after.size) - both.first;
    set_region(region.region, both);
}

void connection::finish_change(user_object& region, const ib_mr_mod_t& wanted, bool done) {
    const auto& mr = *static_cast<const HCA_MR*>(region.object);
    set_region(region.region, memory_of(mr, done ? HcaModifiedMr(&mr, &wanted) : mr.Create));
}

bool connection::change(user_object& object, UCHAR verb) {
    if (verb == HCA_MN_MODIFY_QP && object.counts != nullptr &&
        HcaQpState(static_cast<const HCA_QP*>(object.object)) == IB_QPS_RESET)
        object.counts->reset();
    if (verb != HCA_MN_RESIZE_CQ || object.queue == nullptr || !passed_[0]) return true;
    if (!object.queue->replace(passed_)) return false;
    if (object.queue->take_event()) HcaReportCqCompletion(static_cast<HCA_CQ*>(object.object));
    return true;
}

// Replies that end objects are received by this thread, too, so the objects remain.
void connection::report_events() {
    std::uint64_t handle = 0;
    for (;;) {
        HCA_CQ* due = nullptr;
        {
            const spin_guard guard(lock_);
            auto each = objects_.upper_bound(handle);
            while (each != objects_.end() && (each->queue == nullptr || !each->queue->take_event()))
                ++each;
            if (each == objects_.end()) return;
            handle = each->handle;
            due = static_cast<HCA_CQ*>(each->object);
        }
        HcaReportCqCompletion(due);
    }
}

void connection::end(user_object& object) {
    if (object.counts != nullptr) {
        const spin_guard guard(counts_lock_);
        counts_.erase(counts_.iterator_to(*object.counts));
    }
    if (object.type == HCA_MN_REGISTER_MR) set_region(object.region, {});
    {
        const spin_guard guard(lock_);
        if (object.is_linked()) objects_.erase(objects_.iterator_to(object));
        for (unsigned i = 0; i < object.wait_count; ++i)
            if (object.waits[i].is_linked())
                expected_.erase(expected_.iterator_to(object.waits[i]));
    }
    object.discard();
}

// ---- opening and closing

NTSTATUS connection::open(IRP* irp) {
    closing_ = irp;
    IoMarkIrpPending(irp);
    ExInitializeWorkItem(&work_, connect_and_send, this);
    ExQueueWorkItem(&work_, DelayedWorkQueue);
    return STATUS_PENDING;
}

void connection::connect_and_send(void* self) {
    auto& own = *static_cast<connection*>(self);
    IRP* const irp = std::exchange(own.closing_, nullptr);
    NTSTATUS status = own.connect();
    if (NT_SUCCESS(status)) status = own.send(irp);
    if (status == STATUS_PENDING) return;
    user_object::of(HCA_MN_OPEN_CA, &own.ca_).discard();
    delete &own;
    HcaComplete(irp, status, 0);
}

NTSTATUS connection::connect() {
    if (const int error = control_.connect(adapter::of(ca_.Device).socket()); error != 0)
        return status_of(error);
    if (!say_hello()) return STATUS_DEVICE_NOT_CONNECTED;
    watch_ = dispatch::watch_readable(dispatch::machine::current(), control_.get(), read, this);
    return watch_ != nullptr ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

// The daemon copies to and from this process's regions. Without its descriptor there are none.
bool connection::say_hello() {
    wire::hello hello{{wire::kind::hello, 0, {}, 0, 0}, wire::magic, wire::version, sizeof(void*)};
    std::array<iovec, 1> part{{{&hello, sizeof(hello)}}};
    ci::detail::descriptors memory;
    memory[0] = ci::address_space::open_own();
    return ci::detail::send_message(control_.get(), part, memory) == 0;
}

// Runs as a work item, since the watch may have to be waited for.
void connection::close(void* self) {
    auto* const own = static_cast<connection*>(self);
    IRP* const irp = own->closing_;
    const NTSTATUS status = own->closing_status_;
    delete own;
    HcaComplete(irp, status, 0);
}

// ---- receiving

bool connection::read(void* self) { return static_cast<connection*>(self)->receive(); }

// Returns false to end the watch.
bool connection::receive() {
    for (int i = 0; i < turn; ++i) {
        ci::detail::received_message got =
            ci::detail::receive_message(control_.get(), buffer_, ci::detail::max_descriptors);
        if (got.error == EAGAIN) return true;
        passed_ = std::move(got.with);
        const bool good =
            got.error == 0 && got.size != 0 && handle_packet(message(buffer_).first(got.size));
        if (!good) {
            fail(STATUS_FILE_FORCED_CLOSED);
            return false;
        }
    }
    return true;
}

// Returns false if the daemon is not to be believed.
bool connection::handle_packet(message received) {
    while (!received.empty())
        if (!handle(ci::crossing::take_first(received))) return false;
    return true;
}

bool connection::handle(message received) {
    wire::header head{};
    if (received.size() < sizeof(head)) return false;
    std::memcpy(&head, received.data(), sizeof(head));
    if (head.what == wire::kind::welcome) return welcome(received);
    if (head.what == wire::kind::event) {
        report_events();
        return true;
    }
    if (head.what != wire::kind::reply) return false;
    // The reply of a wait whose object has ended in the meantime is expected no longer.
    expected_reply* const expected = take(head.id);
    return expected == nullptr || expected->on_reply(*this, received);
}

bool connection::welcome(message received) {
    wire::welcome made{};
    if (received.size() != sizeof(made)) return false;
    std::memcpy(&made, received.data(), sizeof(made));
    if (made.magic != wire::magic) return false;
    if (!NT_SUCCESS(made.status)) fail(made.status);
    return true;
}

expected_reply* connection::take(std::uint64_t id) {
    const spin_guard guard(lock_);
    const auto found = expected_.find(id);
    if (found == expected_.end()) return nullptr;
    expected_reply& taken = *found;
    expected_.erase(found);
    return &taken;
}

bool connection::expect(expected_reply& reply) {
    const spin_guard guard(lock_);
    if (failure_.load() != STATUS_SUCCESS) return false;
    expected_.insert(reply);
    return true;
}

// Takes a verb off the replies that never come. The waits belong to their objects.
verb_request* connection::take_any() {
    const spin_guard guard(lock_);
    while (!expected_.empty()) {
        expected_reply& each = *expected_.begin();
        expected_.erase(expected_.begin());
        if (!each.belongs_to_object) return static_cast<verb_request*>(&each);
    }
    return nullptr;
}

// The connection has ended: the HCA has failed, and all requests complete. Threads that send, or
// wait for the reply of a call, return.
void connection::fail(NTSTATUS status) {
    {
        const spin_guard guard(lock_);
        if (failure_.load() != STATUS_SUCCESS) return;
        failure_.store(status);
    }
    shutdown(control_.get(), SHUT_RDWR);
    if (data_) shutdown(data_.get(), SHUT_RDWR);
    if (opened_.load()) HcaReportFatal(ca_.Device);
    while (verb_request* const each = take_any())
        each->on_end(*this);
}

// ---- calls

NTSTATUS connection::exchange(std::span<iovec> asked, std::size_t& size) {
    if (failure_.load() != STATUS_SUCCESS || !opened_.load()) return STATUS_FILE_FORCED_CLOSED;
    if (ci::detail::send_when_possible(data_.get(), asked) != 0) return STATUS_FILE_FORCED_CLOSED;
    const ci::detail::received_message got =
        ci::detail::await_message(data_.get(), data_buffer_, -1);
    size = got.size;
    return got.error == 0 && size != 0 ? STATUS_SUCCESS : STATUS_FILE_FORCED_CLOSED;
}

NTSTATUS connection::call(IO_STACK_LOCATION& location, ULONG_PTR& information) {
    const ci::crossing::traits& verb = *ci::crossing::find(location.MinorFunction);
    const auto handle = handle_of(verb.type(), location.Parameters.Others.Argument1);
    ci::crossing::outgoing asked;
    NTSTATUS status =
        ci::crossing::write_request(location, *this, next_id_.fetch_add(1), handle, asked);
    if (!NT_SUCCESS(status)) return status;
    const spin_guard guard(data_lock_);
    std::size_t size = 0;
    status = exchange(asked.message.list(), size);
    if (!NT_SUCCESS(status)) return status;
    ci::crossing::result got;
    const bool good =
        ci::crossing::read_reply(message(data_buffer_).first(size), location, *this, got);
    if (!good) fail_later();
    information = got.information;
    if (good) apply_all_stores(); // of completions that it returns
    return good ? got.status : STATUS_FILE_FORCED_CLOSED;
}

// The thread that receives then fails the connection.
void connection::fail_later() { shutdown(control_.get(), SHUT_RDWR); }

NTSTATUS connection::call(ci::crossing::post_writer& asked, ci::wire::posted& made) {
    const message whole = asked.finish();
    std::array<iovec, 1> part{{{const_cast<std::byte*>(whole.data()), whole.size()}}};
    std::size_t size = 0;
    const NTSTATUS status = exchange(part, size);
    if (!NT_SUCCESS(status)) return status;
    if (asked.read_reply(message(data_buffer_).first(size), made)) return made.status;
    made = {};
    fail_later();
    return STATUS_FILE_FORCED_CLOSED;
}

} // namespace irpverbs::hca_user
