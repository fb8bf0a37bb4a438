// Reassembles a message from segments as the kernel does, which may arrive out of order within the
// window.
#pragma once

#include "mad.hpp"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace irpverbs::umad {

class rmpp_in {
public:
    using emit = std::function<void(const mad&)>;

    rmpp_in(std::uint32_t window, emit out)
        : window_size_(window), window_(window), emit_(std::move(out)) {}

    /// Adds a DATA segment; returns the whole message once, when it is complete.
    std::optional<std::vector<std::uint8_t>> data(const std::uint8_t* m);
    void abort(const std::uint8_t* any_segment, rmpp::code why);
    bool complete() const { return complete_; }
    bool failed() const { return failed_; }

private:
    std::optional<rmpp::code> wrong(const std::uint8_t* m) const;
    void keep(const std::uint8_t* m, std::uint32_t number);
    void acknowledge(const std::uint8_t* m);
    std::vector<std::uint8_t> assembled() const;

    std::map<std::uint32_t, std::vector<std::uint8_t>> segments_; // data after the class header
    std::vector<std::uint8_t> head_;
    std::uint32_t in_order_ = 0;
    std::uint32_t last_ = 0; // number of the last segment; 0: not known yet
    std::uint32_t window_size_;
    std::uint32_t window_;
    bool complete_ = false;
    bool failed_ = false;
    emit emit_;
};

} // namespace irpverbs::umad
