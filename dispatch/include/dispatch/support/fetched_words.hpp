// Loads of memory that another process may write at any time.
#pragma once

#include <dispatch/support/processor.hpp>

#include <cstddef>
#include <memory>

namespace irpverbs::dispatch::detail {

/// The words of a message that its reader has loaded from memory of another process. A second load
/// of one may return another value than the one that was checked, which breaks the rule
/// DoubleFetch. Nothing is noted unless the verifier checks the pool. One thread uses it at a time.
class fetched_words {
public:
    NT_API fetched_words() noexcept;
    NT_API ~fetched_words();
    fetched_words(const fetched_words&) = delete;
    fetched_words& operator=(const fetched_words&) = delete;

    /// The next message begins, of which nothing has been loaded.
    void begin() {
        if (instrumented()) begin_slow();
    }
    /// Is called when `size` bytes from `first` on are loaded.
    void load(const void* first, std::size_t size) {
        if (instrumented()) load_slow(first, size);
    }

private:
    struct range;
    struct records;

    NT_API void begin_slow();
    NT_API void load_slow(const void* first, std::size_t size);

    std::unique_ptr<records> records_; // null: there are none
};

} // namespace irpverbs::dispatch::detail
