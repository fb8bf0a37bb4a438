// Two ends of an RMPP transfer and the wire between them, in virtual time; choices determine the
// faults of the wire.
#pragma once

#include <rmpp/double_sided.hpp>

#include <dispatch/testing/choices.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace irpverbs::ibmf::rmpp::testing {

using datagram = std::array<std::uint8_t, mad_size>;

inline mad_view view_of(const datagram& bytes) {
    mad_view view;
    if (mad_view::parse(bytes, view) != mad_fault::none) throw std::logic_error("no datagram");
    return view;
}

inline std::vector<std::uint8_t> pattern(std::size_t size) {
    std::vector<std::uint8_t> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    return bytes;
}

// A message with its own storage: an SA table, or one of another class.
struct rmpp_message {
    datagram headers{};
    std::vector<std::uint8_t> data;
    class_layout layout;

    explicit rmpp_message(std::size_t size, std::uint8_t mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                          std::uint8_t method = 0x92)
        : data(pattern(size)), layout(layout_of(mgmt_class)) {
        store(header_at<mad_header::size>(mad_buffer(headers), 0),
              mad_header{.mgmt_class = mgmt_class,
                         .class_version = 2,
                         .method = method,
                         .transaction_id = 0x1234567800000042u,
                         .attribute_id = 0x11,
                         .attribute_modifier = 7});
        for (std::size_t i = layout.class_header_offset; i < layout.data_offset(); ++i)
            headers[i] = static_cast<std::uint8_t>(0xC0 + i);
    }
    message as_message() const {
        const std::span<const std::uint8_t, mad_size> all(headers);
        return {all.first<mad_header_size>(),
                all.subspan(layout.class_header_offset, layout.class_header_size), data};
    }
    std::size_t segment_data() const { return layout.data_size(); }
};

// One end of a transfer, as functions.
struct endpoint {
    std::function<bool(mad_buffer, ticks)> transmit;
    std::function<void(const mad_view&, ticks)> receive;
    std::function<ticks()> deadline;
    std::function<void(ticks)> expire;
};

inline endpoint end_of(sender& it) {
    return {[&](mad_buffer to, ticks now) { return it.transmit(to, now); },
            [&](const mad_view& view, ticks now) { it.receive(view, now); },
            [&] { return it.deadline(); }, [&](ticks now) { it.expire(now); }};
}
inline endpoint end_of(receiver& it) {
    return {[&](mad_buffer to, ticks) { return it.transmit(to); },
            [&](const mad_view& view, ticks now) { it.receive(view, now); },
            [&] { return it.deadline(); }, [&](ticks now) { it.expire(now); }};
}
template <class Side>
endpoint end_of(Side& it) {
    return {[&](mad_buffer to, ticks now) { return it.transmit(to, now); },
            [&](const mad_view& view, ticks now) { it.receive(view, now); },
            [&] { return it.deadline(); }, [&](ticks now) { it.expire(now); }};
}

// Faults of datagrams. At most `faults` in a run, once in `one_in` datagrams; 0: each time there is
// a choice (for exhaustive searches).
struct link_faults {
    std::uint32_t faults = 0;
    std::uint32_t one_in = 0;
    ticks delay = millisecond;
};

class rmpp_link {
public:
    rmpp_link(dispatch::choices& source, const link_faults& chosen)
        : source_(source), link_faults_(chosen) {}

    // Called for every datagram sent, with its sender (0, 1), delivered or not; and for every one
    // that arrives.
    std::function<void(int from, const mad_view&)> on_send = [](int, const mad_view&) {};
    std::function<void(int to, const mad_view&)> on_arrival = [](int, const mad_view&) {};

    // Runs both ends until no event is left. Returns false when that takes more than `most` events.
    bool run(endpoint a, endpoint b, std::size_t most = 100'000) {
        const std::array<endpoint*, 2> ends{&a, &b};
        for (std::size_t i = 0; i < most; ++i) {
            pump(ends);
            const ticks next = std::min({due(), a.deadline(), b.deadline()});
            if (next == never) return true;
            now_ = std::max(now_, next);
            if (due() <= now_) {
                arrive(ends);
                continue;
            }
            for (endpoint* end : ends)
                if (end->deadline() <= now_) end->expire(now_);
        }
        return false;
    }

    ticks now() const { return now_; }
    std::uint64_t sent() const { return sent_; }

private:
    struct datagram_in_flight {
        datagram bytes;
        int to;
        ticks due;
    };
    enum delivery : std::uint32_t { arrives, lost, doubled, late, deliveries };

    void pump(const std::array<endpoint*, 2>& ends) {
        for (int from = 0; from < 2; ++from) {
            datagram bytes{};
            while (ends[static_cast<std::size_t>(from)]->transmit(bytes, now_)) {
                ++sent_;
                on_send(from, view_of(bytes));
                launch(bytes, 1 - from);
                bytes.fill(0xEE); // transmit must write all of it
            }
        }
    }
    void launch(const datagram& bytes, int to) {
        const delivery what = choose_delivery();
        if (what == lost) return;
        const ticks late_by =
            what == late ? link_faults_.delay * (1 + source_.pick(4, "late by")) : 0;
        schedule(bytes, to, now_ + link_faults_.delay + late_by);
        if (what == doubled)
            schedule(bytes, to, now_ + link_faults_.delay * (1 + source_.pick(4, "second copy")));
    }
    delivery choose_delivery() {
        if (faults_ == link_faults_.faults) return arrives;
        if (link_faults_.one_in != 0 && !source_.fires("fault", link_faults_.one_in))
            return arrives;
        const bool must = link_faults_.one_in != 0;
        const auto what = static_cast<delivery>(
            source_.pick(must ? deliveries - 1 : deliveries, "delivery") + (must ? 1 : 0));
        if (what != arrives) ++faults_;
        return what;
    }
    // Inserted in order of arrival; datagrams of one moment keep the order of their sends.
    void schedule(const datagram& bytes, int to, ticks due) {
        const auto later = [](ticks time, const datagram_in_flight& other) {
            return time < other.due;
        };
        in_flight_.insert(std::upper_bound(in_flight_.begin(), in_flight_.end(), due, later),
                          {bytes, to, due});
    }
    ticks due() const { return in_flight_.empty() ? never : in_flight_.front().due; }
    void arrive(const std::array<endpoint*, 2>& ends) {
        const datagram_in_flight first = in_flight_.front();
        in_flight_.erase(in_flight_.begin());
        on_arrival(first.to, view_of(first.bytes));
        ends[static_cast<std::size_t>(first.to)]->receive(view_of(first.bytes), now_);
    }

    dispatch::choices& source_;
    link_faults link_faults_;
    std::uint32_t faults_ = 0;
    ticks now_ = 0;
    std::uint64_t sent_ = 0;
    std::vector<datagram_in_flight> in_flight_;
};

// Checks that the sender is never beyond the window in the ACKs that it received.
class window_watch {
public:
    explicit window_watch(rmpp_link& watched, int sending = 0) {
        watched.on_send = [this, sending](int from, const mad_view& view) {
            const rmpp_header header = view.rmpp();
            if (from != sending || header.type != rmpp_type::data) return;
            if (header.segment > allowed_)
                broken_ = "segment " + std::to_string(header.segment) + " beyond the window " +
                          std::to_string(allowed_);
        };
        watched.on_arrival = [this, sending](int to, const mad_view& view) {
            const rmpp_header header = view.rmpp();
            if (to == sending && header.type == rmpp_type::ack)
                allowed_ = std::max(allowed_, header.length_or_window);
        };
    }
    const std::optional<std::string>& broken() const { return broken_; }

private:
    std::uint32_t allowed_ = 1;
    std::optional<std::string> broken_;
};

inline std::string text_of(const outcome& result) {
    return std::string(name_of(result.state)) + " " + ibmf::name_of(result.code) +
           (result.by_peer ? " by the peer" : "");
}

} // namespace irpverbs::ibmf::rmpp::testing
