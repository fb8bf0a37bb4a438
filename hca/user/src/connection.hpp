// The connection of an open HCA to its daemon. Verbs and events use one socket, whose replies the
// machine's context receives; calls that must not pend use a second one, and wait for the reply.
#pragma once

#include "unforked_socket.hpp"
#include "user_object.hpp"

#include <ci/ib_uvp.h>
#include <ci/support/packet.hpp>
#include <ci/support/post_ring.hpp>
#include <ci/support/posts_crossing.hpp>
#include <ci/support/seq_socket.hpp>
#include <ci/support/shared_memory.hpp>
#include <dispatch/descriptor_watch.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace irpverbs::hca_user {

class connection final : public ci::crossing::directory {
public:
    explicit connection(HCA_CA& ca);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    /// Pends the IRP of CiOpenCa, connects, and sends it. Returns STATUS_PENDING.
    NTSTATUS open(IRP* irp);
    /// Sends a verb, whose IRP it pends. A failure returns the status of the verb.
    NTSTATUS send(IRP* irp);
    /// Performs a verb of the action `calls`. IRQL: <= DISPATCH_LEVEL.
    NTSTATUS call(IO_STACK_LOCATION& location, ULONG_PTR& information);

    /// Posts a list to a queue. IRQL: <= DISPATCH_LEVEL.
    template <class Queue, class Work>
    NTSTATUS post(const Queue& queue, Work* list, Work** failed);
    /// Binds a window of type 1. IRQL: <= DISPATCH_LEVEL.
    NTSTATUS bind(HCA_MW& window, HCA_QP& qp, const ib_bind_wr_t& what, ULONG& rkey);

    /// Applies the stores of the daemon up to that count: the completion behind them is returned
    /// next. IRQL: <= DISPATCH_LEVEL.
    void apply_stores(std::uint64_t count) {
        if (stores_ && stores_->applied() < count) apply_stores_to(count);
    }
    /// Applies all that are there: the reply behind them is believed next. IRQL: <= DISPATCH_LEVEL.
    void apply_all_stores() {
        if (stores_) apply_stores_to(~std::uint64_t{0});
    }

    /// Counts completions that were removed. IRQL: <= DISPATCH_LEVEL.
    void count_completions(std::span<const IB_WC> removed);

    /// Sends a wait for an event.
    void send(event_wait& wait);
    /// Sends a wait again whose event was received.
    void send_again(event_wait& wait);
    /// Port events that the daemon has latched before a fatal event are received before that is
    /// reported: the fence is sent again until none has come since.
    void begin_fatal(user_object& ca);
    void on_fence(event_wait& fence);
    void count_port_event() { ++port_events_; }
    /// Before its client learns of an event, the provider does.
    void report_to_provider(const user_object& of, std::uint64_t event) const;
    /// The functions of the HCA's provider; null: it has none.
    const uvp_interface_t* provider() const;

    /// On the thread that receives: the object exists, has changed, or exists no longer. False: the
    /// daemon is not to be believed.
    bool begin(user_object& object, std::uint64_t handle);
    bool change(user_object& object, UCHAR verb);
    void end(user_object& object);
    /// A region has its memory of before or after, and then that of the outcome.
    void begin_change(user_object& region, const ib_mr_mod_t& wanted);
    void finish_change(user_object& region, const ib_mr_mod_t& wanted, bool done);
    /// The receiver releases a request whose result is set.
    void release_received(verb_request& request);
    /// The status of a request that has no reply.
    NTSTATUS status_at_end(const verb_request& request) const;

    std::uint64_t handle_of(ci::crossing::object_type type, void* object) override;
    void* object_of(ci::crossing::object_type type, std::uint64_t handle) override;

private:
    struct by_id {
        using type = std::uint64_t;
        type operator()(const expected_reply& each) const { return each.id; }
    };
    struct by_handle {
        using type = std::uint64_t;
        type operator()(const user_object& each) const { return each.handle; }
    };
    using replies = boost::intrusive::set<expected_reply, boost::intrusive::key_of_value<by_id>>;

    static void connect_and_send(void* self);
    static void close(void* self);
    NTSTATUS connect();
    bool say_hello();
    NTSTATUS write(verb_request& request, ci::crossing::outgoing& made);
    /// Sends a verb whose pre function has run, and pends its IRP.
    NTSTATUS transmit(verb_request& request);
    void pend(verb_request& request, ci::crossing::outgoing& made);
    void send_request(const verb_request& request, ci::crossing::outgoing& made);
    NTSTATUS complete_unsent(verb_request& request, NTSTATUS status);
    bool expect(expected_reply& reply);
    bool begin_wait(event_wait& wait, ci::crossing::outgoing& made);
    void send_parts(std::span<iovec> parts);
    void arm_cancel(verb_request& request);
    static void cancel(DEVICE_OBJECT*, IRP* irp);
    void send_cancel(const verb_request& request);
    void release(verb_request& request);
    void complete(verb_request& request);
    void finish(verb_request& request);
    static void run_post_step(void* request);
    void undo(verb_request& created, NTSTATUS status);

    static bool read(void* self);
    bool receive();
    bool handle_packet(ci::crossing::message received);
    bool handle(ci::crossing::message received);
    bool welcome(ci::crossing::message received);
    bool begin_calls();
    bool map_rings();
    void begin_counts(user_object& object);
    void begin_region(user_object& object);
    void set_region(known_region& region, const known_region& now);
    void apply_stores_to(std::uint64_t count);
    void report_events();
    expected_reply* take(std::uint64_t id);
    void fail(NTSTATUS status);
    verb_request* take_any();
    NTSTATUS exchange(std::span<iovec> asked, std::size_t& size);
    NTSTATUS call(ci::crossing::post_writer& asked, ci::wire::posted& made);
    template <class Queue, class Work>
    Work* post_in_ring(const Queue& queue, Work* list);
    void ring_bell();
    template <class Queue, class Work>
    NTSTATUS post_by_call(const Queue& queue, Work*& list);
    void fail_later();

    HCA_CA& ca_;
    unforked_socket control_;
    std::unique_ptr<dispatch::descriptor_watch> watch_;
    std::vector<std::byte> buffer_;  // of the message that is being handled
    ci::detail::descriptors passed_; // with that message
    WORK_QUEUE_ITEM work_;           // connects, and closes
    IRP* closing_ = nullptr;         // completed when this has been destroyed, with the next one
    NTSTATUS closing_status_ = STATUS_SUCCESS;
    std::atomic<std::uint64_t> next_id_{1};
    ULONG port_events_ = 0; // of the thread that receives
    std::atomic<bool> opened_{false};
    std::atomic<NTSTATUS> failure_{STATUS_SUCCESS}; // of the connection; set once, under the lock

    KSPIN_LOCK data_lock_ = 0; // one call at a time
    ci::detail::unique_descriptor data_;
    std::vector<std::byte> post_buffer_;
    std::vector<std::byte> data_buffer_;
    ci::detail::shared_memory own_posts_; // the parts of the rings; empty: posts are calls
    ci::detail::shared_memory daemons_posts_;
    std::optional<ci::crossing::post_producer> sends_;
    std::optional<ci::crossing::post_producer> receives_;
    std::optional<ci::crossing::store_consumer> stores_; // under stores_lock_

    KSPIN_LOCK lock_ = 0; // guards all below
    replies expected_;
    boost::intrusive::set<user_object, boost::intrusive::key_of_value<by_handle>> objects_;

    struct by_number {
        using type = ULONG;
        type operator()(const qp_counts& each) const { return each.number; }
    };
    struct by_key {
        using type = ULONG;
        type operator()(const known_region& each) const { return each.key; }
    };
    KSPIN_LOCK stores_lock_ = 0;
    boost::intrusive::set<known_region, boost::intrusive::key_of_value<by_key>> regions_;

    KSPIN_LOCK counts_lock_ = 0; // guards the set, and the queue pairs' counts of completions
    boost::intrusive::set<qp_counts, boost::intrusive::key_of_value<by_number>> counts_;
};

/// Sets the functions of CiPostSend, CiPostRecv and CiPostSrqRecv.
void begin_posts(HCA_QP& qp);
void begin_posts(HCA_SRQ& srq);

/// The operation BindMw.
NTSTATUS bind_mw(HCA_MW* window, HCA_QP* qp, const ib_bind_wr_t* what, ULONG* rkey);

} // namespace irpverbs::hca_user
