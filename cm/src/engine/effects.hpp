// The consequences of an event, which are carried out after the release of the port's lock.
#pragma once

#include "outgoing.hpp"
#include "port_object.hpp"

#include <irp/wdm.h>

#include <boost/container/static_vector.hpp>

namespace irpverbs::cm::engine {

class cm_port;
struct connection;
class path_query;

using connection_ref = boost::intrusive_ptr<connection>;

/// An event sends at most two messages and concerns at most two connections: a new one, and one
/// that it makes stale.
class effects {
public:
    effects() { InitializeListHead(&completed_); }
    effects(const effects&) = delete;
    effects& operator=(const effects&) = delete;

    void send(const datagram_address& to, const datagram& bytes) {
        messages_.push_back({to, bytes});
    }
    template <class Message>
    void send(const datagram_address& to, const Message& message, std::uint64_t transaction_id) {
        messages_.push_back({to, {}});
        encode(message, transaction_id, messages_.back().bytes);
    }
    /// Completes an IRP that is in no list.
    void complete(IRP* irp, NTSTATUS status, ULONG_PTR information = 0) {
        irp->IoStatus.Status = status;
        irp->IoStatus.Information = information;
        InsertTailList(&completed_, &irp->Tail.Overlay.ListEntry);
    }
    /// Sends the next verb of the connection's queue pair.
    void change_qp(connection& of) { qp_changes_.emplace_back(&of); }
    void query_path(path_query& which);
    void cancel_path_query(path_query& which);
    /// Releases a reference.
    void release(port_object& of) { released_.emplace_back(&of, false); }

    /// IRQL: <= DISPATCH_LEVEL, without the lock.
    void perform(cm_port& at);

private:
    boost::container::static_vector<outgoing, 3> messages_;
    boost::container::static_vector<connection_ref, 2> qp_changes_;
    boost::container::static_vector<boost::intrusive_ptr<port_object>, 4> released_;
    path_query* path_query_ = nullptr;
    boost::intrusive_ptr<port_object> queries_;
    path_query* cancelled_query_ = nullptr;
    boost::intrusive_ptr<port_object> cancels_;
    LIST_ENTRY completed_;
};

} // namespace irpverbs::cm::engine
