// A request to the SA on its way: one for all accesses that ask the same.
#pragma once

#include <access/answer_stream.hpp>
#include <access/path_memory.hpp>
#include <access/question.hpp>
#include <list_link.hpp>
#include <saa/detail/requests.hpp>

#include <ibmf/mad.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <array>
#include <new>

namespace irpverbs::saa {

class port;

enum class query_phase : std::uint8_t { queued, in_flight, settled };

struct query : boost::intrusive_ref_counter<query> {
    /// Of the port's memory. Null: there is none.
    static query* make(port& its_port, question&& what, bool is_bulk);
    static void operator delete(query* gone, std::destroying_delete_t);
    ~query();
    query(const query&) = delete;
    query& operator=(const query&) = delete;

    /// Its records go there as they come. False: no memory.
    bool hand_on(std::shared_ptr<detail::record_sink> to);
    /// Gives the message its addressee, its buffers, and how many bytes it may bring unless they go
    /// to a stream. An IBMF_ status.
    int address(ibmf_handle_t handle, const ibmf_addr_info_t& to, std::uint64_t transaction_id,
                std::size_t most_answered);

    const boost::intrusive_ptr<port> at;
    const question asked;
    const std::size_t hash;
    std::unique_ptr<answer_stream> stream; // of one that is not shared
    ibmf_msg_t* msg = nullptr; // freed with the query, so that who cancels it cancels no other
    WORK_QUEUE_ITEM work;

    // All below: guarded by the port's lock.
    query_phase phase = query_phase::queued;
    bool bulk;
    bool sent = false;
    bool withdrawn = false; // nobody waits any more
    bool in_table = false;
    bool is_due = false;
    ib_lid_t sent_to = 0;
    std::optional<path_memory::ticket> asked_at; // the path cache's time
    bool counted = false;                        // it is one of the port's
    LIST_ENTRY waiters;
    list_link<query> in_bucket{*this};
    list_link<query> in_line{*this};
    list_link<query> of_due{*this};

private:
    query(port& its_port, question&& what, bool is_bulk);

    std::array<std::uint8_t, ibmf::mad_header::size> header_{};
    std::array<std::uint8_t, ibmf::sa_header::size> sa_header_{};
};

using query_ref = boost::intrusive_ptr<query>;

} // namespace irpverbs::saa
