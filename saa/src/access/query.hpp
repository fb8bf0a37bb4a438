// A request to the SA, which all accesses with an equal query share.
#pragma once

#include <access/path_cache_policy.hpp>
#include <access/response_stream.hpp>
#include <access/wire_query.hpp>
#include <saa/support/requests.hpp>

#include <ibmf/mad.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <array>
#include <new>

namespace irpverbs::saa {

class session_port;

enum class query_phase : std::uint8_t { queued, in_flight, completed };

struct query : boost::intrusive_ref_counter<query> {
    /// Allocates a query from the port's memory. Returns null when there is none.
    static query* make(session_port& its_port, wire_query&& what, bool is_bulk);
    static void operator delete(query* gone, std::destroying_delete_t);
    ~query();
    query(const query&) = delete;
    query& operator=(const query&) = delete;

    /// Directs the records to `to` as they arrive. Returns false without memory.
    bool stream_to(std::shared_ptr<detail::record_sink> to);
    /// Sets the message's address, its buffers, and the limit of its response unless a stream
    /// receives it. Returns an IBMF_ status.
    int address(const ibmf_addr_info_t& to, std::uint64_t transaction_id,
                std::size_t max_response_size);

    session_port* const at; // referenced until the memory is freed
    const wire_query request;
    const std::size_t hash;
    std::unique_ptr<response_stream> stream; // for a query that is not shared
    ibmf_msg_t* msg = nullptr; // returned to the port with the query's end, so that a cancellation
                               // never finds the message of another query
    WORK_QUEUE_ITEM work;

    // The port's lock guards all members below.
    query_phase phase = query_phase::queued;
    bool bulk;
    bool sent = false;
    bool cancelled = false; // no access waits any more
    ib_lid_t sent_to = 0;
    std::optional<path_cache_policy::ticket> cache_ticket; // in the path cache's count
    bool counted = false;                                  // included in the port's uses
    LIST_ENTRY waiters;
    boost::intrusive::list_member_hook<> bucket_entry; // linked while accesses may share the query
    boost::intrusive::list_member_hook<> queue_entry;
    boost::intrusive::list_member_hook<> due_entry;

private:
    query(session_port& its_port, wire_query&& what, bool is_bulk);

    std::array<std::uint8_t, ibmf::mad_header::size> header_{};
    std::array<std::uint8_t, ibmf::sa_header::size> sa_header_{};
};

using query_ref = boost::intrusive_ptr<query>;

template <boost::intrusive::list_member_hook<> query::*Entry>
using query_list = boost::intrusive::list<
    query, boost::intrusive::member_hook<query, boost::intrusive::list_member_hook<>, Entry>,
    boost::intrusive::constant_time_size<false>>;

} // namespace irpverbs::saa
