// A connection of a client: its requests, and the objects of the one HCA that it may open.
#pragma once

#include "served_posts.hpp"
#include "served_request.hpp"

#include <ci/support/address_space.hpp>
#include <ci/support/packet.hpp>
#include <ci/support/seq_socket.hpp>
#include <ci/ual.h>

#include <atomic>
#include <string>
#include <vector>

namespace irpverbs::ual {

class listener;

/// A user, with the connections and objects of all of its processes.
struct user {
    user(uid_t whose, const UAL_OPTIONS& limits)
        : uid(whose), connections(limits.MaxConnections), objects(limits.MaxObjectsOfUser),
          ring_memory(limits.MaxRingMemory), common_memory(limits.MaxCommonMemory) {}

    const uid_t uid;
    quota connections;
    quota objects;
    quota ring_memory;   // bytes
    quota common_memory; // MiB
};

/// A thread of the connection receives its requests; the completions of their IRPs send the
/// replies. Only that thread waits for this client. When the client is gone, it cancels the
/// requests, waits for their completions, and destroys the objects in the reverse order of their
/// creation.
class served_connection : public boost::intrusive::list_base_hook<> {
public:
    /// The connection of a process of `whose`. `welcome_status`: that of the welcome.
    served_connection(listener& owner, ci::detail::unique_descriptor socket, const ucred& peer,
                      user& whose, NTSTATUS welcome_status);
    ~served_connection();
    served_connection(const served_connection&) = delete;
    served_connection& operator=(const served_connection&) = delete;

    /// Starts the thread, which at its end removes the connection from the listener. False: without
    /// effect.
    bool start();
    /// Makes the thread end. Any thread may call this while the connection is in the listener.
    void stop();

    /// Notifies the client that an event was reported in a ring. IRQL: <= DISPATCH_LEVEL.
    void send_event();

    /// The stores that were passed to the client. IRQL: any.
    std::uint64_t stores() { return posts_.stores() != nullptr ? posts_.stores()->count() : 0; }

    user& owner_user() const { return user_; }
    served_receives& receives() { return posts_.receives(); }
    receives_of_others& others() { return posts_.others(); }
    /// Adds what it has to the present numbers. IRQL: <= DISPATCH_LEVEL.
    void count(UAL_COUNTERS& into) const;
    std::string description() const;

private:
    static void run(void* self);
    void serve();
    bool serve_ring();
    static void relax(ULONG idle);
    bool serve_messages(int milliseconds);
    bool has_unsent() const { return unsent_.load() != 0 || event_unsent_.load(); }
    bool receive(int socket);
    bool handle_packet(int via, ci::crossing::message received);
    bool handle(int via, ci::crossing::message received);
    bool greet(ci::crossing::message received);
    bool list_hcas(ci::crossing::message received);
    bool send_text(const ci::wire::header& head);
    bool violation();

    bool handle_posts(int via, ci::crossing::message received);
    bool handle_request(int via, const ci::wire::header& head, ci::crossing::message received);
    NTSTATUS start_request(served_request& request, const ci::crossing::incoming& from);
    NTSTATUS find_object(served_request& request, const ci::crossing::incoming& from);
    NTSTATUS find_parent(served_request& request, const ci::crossing::incoming& from);
    NTSTATUS open(served_request& request, std::uint64_t guid);
    NTSTATUS prepare(served_request& request, const ci::crossing::incoming& from);
    NTSTATUS map_region(served_request& request, const ci::crossing::incoming& from);
    static NTSTATUS completed(DEVICE_OBJECT*, IRP* irp, void* context);
    void finish_object(served_request& request, IO_STATUS_BLOCK& result);
    void finish(served_request& request);
    void cancel(std::uint64_t id);

    bool charge(served_request& request);
    void send(served_request& request);
    bool try_to_send(served_request& request);
    bool gather(served_request& request);
    void send_gathered();
    void queue(served_request& request);
    bool try_to_send_event();
    bool flush();
    void wake();
    void release(served_request& request);

    void tear_down();
    void cancel_all();
    served_request* next_to_cancel();
    void drop(served_request& request);
    void await_requests();
    void destroy_objects();
    bool destroy(const served_object& place);

    listener& listener_;
    user& user_;
    const ucred peer_;
    const NTSTATUS welcome_status_;
    const ci::detail::unique_descriptor control_;
    ci::detail::unique_descriptor data_; // exists while the HCA is open
    const ci::detail::unique_descriptor wake_;
    std::vector<std::byte> buffer_;        // of the message that is being handled
    ci::detail::unique_descriptor passed_; // with that message
    unsigned turns_ = 0;                   // of the ring that had work requests
    ULONG idle_turns_ = 0;                 // turns in a row that had no work
    unsigned turns_between_messages_ = 1;  // between two looks at the sockets
    PKTHREAD thread_ = nullptr;
    bool gathers_ = false;          // replies, while a packet is being handled
    ci::crossing::packet together_; // the gathered replies
    request_list gathered_;         // their requests
    bool greeted_ = false;
    std::unique_ptr<const ci::address_space> client_memory_; // null: out of reach
    std::atomic<DEVICE_OBJECT*> hca_{nullptr};               // set once
    ring_quota ring_quota_;
    share_of_quota common_quota_;
    mapped_buffers buffers_{common_quota_};
    served_objects objects_;
    served_posts posts_{objects_}; // of the thread
    std::atomic<bool> stopping_{false};
    std::atomic<ULONG> requests_{0}; // in progress, or with a reply that was not sent
    std::atomic<ULONG> waits_{0};
    std::atomic<std::size_t> memory_{0};
    std::atomic<ULONG> unsent_{0};
    std::atomic<bool> event_unsent_{false};

    KSPIN_LOCK lock_ = 0;  // guards all below
    request_list running_; // oldest first
    request_list out_;     // replies that found no room in their socket
    ULONG busy_ = 0;       // requests that some thread may still touch
    bool closing_ = false; // replies are discarded
    KEVENT idle_;          // set when closing_ and not busy_
};

} // namespace irpverbs::ual
