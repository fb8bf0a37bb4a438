// The queues of a port's queries, and the table of shareable ones. The owner's lock guards it.
#pragma once

#include <access/query.hpp>

#include <vector>

namespace irpverbs::saa {

class query_queues {
public:
    static constexpr unsigned default_limit = 64;

    /// Returns the query that an equal access can share, or null.
    query* find_equal(const query& like);
    void add(query& fresh);
    /// Excludes the query from sharing.
    void stop_sharing(query& which);
    /// Excludes all sent queries from sharing, since their responses may describe an earlier state.
    void stop_sharing_sent();
    /// Moves the query to the end of the queue without bulk queries.
    void promote(query& which);

    /// Whether a query waits, and the limit is not reached.
    bool has_next() const { return queued_ != 0 && in_flight_ < limit_; }
    /// Removes the next query, which is then in flight; null if there is none.
    query* next();
    /// Removes the query from its queue, and counts it as in flight until it has ended.
    void dequeue(query& which);
    void requeue(query& which);
    void completed() { --in_flight_; }

    void set_limit(unsigned in_flight) { limit_ = in_flight; }
    std::size_t queued() const { return queued_; }
    std::size_t in_flight() const { return in_flight_; }

private:
    static constexpr unsigned bulk_share = 8; // every eighth query is a bulk query, if one waits

    using queue = query_list<&query::queue_entry>;
    using bucket = query_list<&query::bucket_entry>;

    bucket& bucket_of(const query& which) { return table_[which.hash & (table_.size() - 1)]; }
    queue& queue_of(const query& which) { return queues_[which.bulk ? 1 : 0]; }
    void grow();
    unsigned next_queue();

    std::vector<bucket> table_{64}; // by hash; the size is a power of two
    std::size_t in_table_ = 0;
    std::array<queue, 2> queues_; // the second one for bulk queries
    unsigned limit_ = default_limit;
    unsigned since_bulk_ = 0;
    std::size_t queued_ = 0;
    std::size_t in_flight_ = 0;
};

} // namespace irpverbs::saa
