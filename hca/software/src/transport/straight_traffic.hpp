// The packets that work requests have spared, for the counters of ports.
#pragma once

#include "straight_message.hpp"

#include <atomic>

namespace irpverbs::hca_software::transport {

/// The packets that work requests would have been, in words of 4 bytes from the base transport
/// header up to the payload's end.
struct straight_traffic {
    ULONGLONG requests = 0;
    ULONGLONG request_words = 0;
    ULONGLONG responses = 0;
    ULONGLONG response_words = 0;
};

/// The messages of one list.
struct straight_list {
    ULONG requests = 0;
    ULONG messages = 0;
    ULONG more_responses = 0; // of reads: those behind the first of each
    ULONGLONG words = 0;      // of requests, without their base headers
};

/// The packets that were spared so far. One thread at a time adds, others may read.
class straight_totals {
public:
    /// Adds the requests of a list.
    void add(const straight_list& passed) {
        add(requests_, passed.requests);
        add(words_, passed.words);
        add(messages_, passed.messages);
    }
    /// Adds the result of one read or atomic operation: the responses behind the first, and the
    /// words of all, without base headers and one acknowledgement.
    void add_result(ULONG more_responses, ULONGLONG words) {
        add(more_responses_, more_responses);
        add(result_words_, words);
    }
    /// `acknowledged`: the messages have responses.
    straight_traffic read(bool acknowledged) const {
        const ULONGLONG more = value(more_responses_);
        const ULONGLONG requests = value(requests_);
        const ULONGLONG messages = acknowledged ? value(messages_) : 0;
        const ULONGLONG responses = messages + more;
        return {requests, requests * base_words + value(words_), responses,
                responses * base_words + messages * acknowledge_words + value(result_words_)};
    }

private:
    using total = std::atomic<ULONGLONG>;

    static ULONGLONG value(const total& of) { return of.load(std::memory_order_relaxed); }
    static void add(total& to, ULONGLONG what) {
        to.store(value(to) + what, std::memory_order_relaxed);
    }

    total requests_{0};
    total words_{0}; // as straight_list's, like the next two
    total messages_{0};
    total more_responses_{0};
    total result_words_{0};
};

} // namespace irpverbs::hca_software::transport
