// Transfers a hundred megabytes between two RMPP engines, without I/O, loss or IRPs. One operation
// is one segment of an SA table, 200 bytes of data.
#include "measurements.hpp"

#include <rmpp/receiver.hpp>
#include <rmpp/sender.hpp>

#include <array>
#include <cstring>
#include <vector>

namespace irpverbs::bench {
namespace {

using ibmf::mad_bytes;
using ibmf::mad_view;
namespace rmpp = ibmf::rmpp;

constexpr std::size_t segment_size = 200;
constexpr std::size_t segments = 524'288;
constexpr rmpp::ticks at_once = 0; // time stands still, so no timer expires

/// A sink that uses the data only during append().
class shown final : public rmpp::sink {
public:
    bool begin(const mad_view&, std::uint64_t) override { return true; }
    bool append(mad_bytes data) override {
        size_ += data.size();
        return true;
    }
    std::size_t size() const { return size_; }

private:
    std::size_t size_ = 0;
};

/// A sink that copies the data into preallocated memory: the second copy of each byte, after the
/// sender's.
class copied final : public rmpp::sink {
public:
    bool begin(const mad_view&, std::uint64_t) override { return true; }
    bool append(mad_bytes data) override {
        std::memcpy(&memory()[size_], data.data(), data.size());
        size_ += data.size();
        return true;
    }
    std::size_t size() const { return size_; }

private:
    static std::vector<std::uint8_t>& memory() {
        static std::vector<std::uint8_t> all(segments * segment_size, 1);
        return all;
    }
    std::size_t size_ = 0;
};

class gathered final : public rmpp::sink {
public:
    bool begin(const mad_view& first, std::uint64_t announced) override {
        return all_.begin(first, announced);
    }
    bool append(mad_bytes data) override { return all_.append(data); }
    std::size_t size() const { return all_.data().size(); }

private:
    rmpp::message_buffer all_;
};

class table {
public:
    explicit table(std::size_t size) : data_(size, 0x5A) {
        ibmf::store(ibmf::header_at<ibmf::mad_header::size>(ibmf::mad_buffer(headers_), 0),
                    ibmf::mad_header{.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                                     .class_version = 2,
                                     .method = 0x92,
                                     .transaction_id = 1,
                                     .attribute_id = 0x11});
    }
    rmpp::message as_message() const {
        const std::span<const std::uint8_t, ibmf::mad_size> all(headers_);
        return {all.first<ibmf::mad_header_size>(),
                all.subspan(ibmf::rmpp_data_offset, ibmf::sa_header::size), data_};
    }

private:
    std::array<std::uint8_t, ibmf::mad_size> headers_{};
    std::vector<std::uint8_t> data_;
};

// Parses a datagram and passes it to the receiving engine.
template <class To>
bool carry(To& to, const std::array<std::uint8_t, ibmf::mad_size>& datagram) {
    mad_view view;
    if (mad_view::parse(datagram, view) != ibmf::mad_fault::none) return false;
    to.receive(view, at_once);
    return true;
}

BENCH_OPAQUE bool transfer(rmpp::sender& from, rmpp::receiver& to) {
    std::array<std::uint8_t, ibmf::mad_size> datagram;
    while (from.result().running()) {
        bool moved = false;
        while (from.transmit(datagram, at_once))
            moved = carry(to, datagram);
        while (to.transmit(datagram))
            moved = carry(from, datagram);
        if (!moved) return false;
    }
    return from.result().state == rmpp::transfer_state::complete;
}

template <class Sink>
void transfers(run& sample) {
    const std::size_t count = sample.population(segments);
    const table sent(count * segment_size);
    const std::uint64_t operations = sample.in_batches_of(count);
    for (std::uint64_t done = 0; done < operations; done += count) {
        Sink sink;
        rmpp::receiver to({}, sink);
        rmpp::sender from({}, sent.as_message());
        sample.start();
        const bool complete = transfer(from, to);
        sample.stop();
        expect(complete && sink.size() == count * segment_size, "an RMPP transfer");
    }
}

} // namespace

void add_ours_rmpp(catalog& all) {
    all.add("ours/rmpp_shown", "a segment of an RMPP transfer, streamed", transfers<shown>);
    all.add("ours/rmpp_copied", "the same, into preallocated memory", transfers<copied>);
    all.add("ours/rmpp_gathered", "the same, into one new block of memory", transfers<gathered>);
}

} // namespace irpverbs::bench
