// A request of a client: the IRP that serves it, its buffers and its reply.
#pragma once

#include "served_objects.hpp"

#include <boost/intrusive/list.hpp>

#include <memory>

namespace irpverbs::ual {

class served_connection;

struct alignas(16) served_request : boost::intrusive::list_base_hook<> {
    struct free {
        void operator()(served_request* request) const;
    };
    using pointer = std::unique_ptr<served_request, free>;

    /// Null without memory. `memory`: bytes for the buffers of the verb.
    static pointer make(served_connection& owner, int via, const ci::wire::header& head,
                        std::size_t memory);

    void* buffers() { return this + 1; }
    void prepare_failure(NTSTATUS status);

    served_connection& owner;
    const int via; // the socket of request and reply
    const ci::wire::header head;
    const std::size_t memory;
    const ci::crossing::traits* verb = nullptr; // null: no verb has the number
    bool waits = false;                         // for an event
    IRP* irp = nullptr;
    void* object = nullptr;         // of the verb
    served_object* place = nullptr; // of the object that the verb creates or ends
    ci::crossing::buffers used;
    ci::crossing::outgoing_reply reply;
    served_queue* queue = nullptr;  // that the verb resizes, or describes
    ci::detail::descriptors passed; // go with the reply of a success
    bool cancelled = false;         // guarded by the connection's lock, as the next
    unsigned references = 1;

private:
    served_request(served_connection& its_owner, int socket, const ci::wire::header& its_head,
                   std::size_t its_memory)
        : owner(its_owner), via(socket), head(its_head), memory(its_memory) {}
    ~served_request() = default;
};

using request_list =
    boost::intrusive::list<served_request, boost::intrusive::constant_time_size<false>>;

} // namespace irpverbs::ual
