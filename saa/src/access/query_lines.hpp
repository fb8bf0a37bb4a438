// Which query goes next, and which one asks the same. No lock: the owner has one.
#pragma once

#include <access/query.hpp>

#include <vector>

namespace irpverbs::saa {

class query_lines {
public:
    static constexpr unsigned default_limit = 64;

    query_lines();

    /// The one that an equal access can share, or null.
    query* find_equal(const query& like) const;
    void add(query& fresh);
    /// It can't be shared any more.
    void close(query& which);
    /// None that was sent can: whoever asks from now on wants to know what is now.
    void close_all_sent();
    /// To the end of the line of those that are not bulk.
    void promote(query& which);

    /// The next to go, now in flight; null: nobody waits, or no room.
    query* next();
    /// Out of its line, and in flight for as long as it takes to end it.
    void take_out(query& which);
    void back_to_line(query& which);
    void landed() { --in_flight_; }

    void set_limit(unsigned in_flight) { limit_ = in_flight; }
    std::size_t queued() const { return queued_; }
    std::size_t in_flight() const { return in_flight_; }

private:
    static constexpr unsigned bulk_share = 8; // one in so many goes to bulk that waits

    LIST_ENTRY& bucket_of(const query& which) { return table_[which.hash % table_.size()]; }
    void grow();
    unsigned line_to_serve();

    std::vector<LIST_ENTRY> table_; // lists of equal hashes
    std::size_t in_table_ = 0;
    std::array<LIST_ENTRY, 2> lines_; // the second: bulk
    unsigned limit_ = default_limit;
    unsigned since_bulk_ = 0;
    std::size_t queued_ = 0;
    std::size_t in_flight_ = 0;
};

} // namespace irpverbs::saa
