// The destination of a transfer's received data: a stream, or one buffer.
#ifndef IRPVERBS_IBMF_RMPP_SINK_HPP
#define IRPVERBS_IBMF_RMPP_SINK_HPP

#include <rmpp/protocol.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

namespace irpverbs::ibmf::rmpp {

// The receiver calls it with the data in order; the bytes are valid during the call. A return of
// false ends the transfer with a STOP (transfer_state::refused).
class sink {
public:
    sink() = default;
    sink(const sink&) = delete;
    sink& operator=(const sink&) = delete;
    virtual ~sink() = default;

    // Receives segment 1, after its checks. `announced`: the number of bytes behind the RMPP
    // headers of all segments, according to the sender; 0: unknown.
    virtual bool begin(const mad_view& first, std::uint64_t announced) = 0;

    // Receives the next data, without class headers; may be empty.
    virtual bool append(mad_bytes data) = 0;
};

// One block: the common header, the class header, all data. It grows with the received data,
// independent of the announcement.
class message_buffer final : public sink {
public:
    struct release {
        void operator()(std::uint8_t* block) const { std::free(block); }
    };
    using block = std::unique_ptr<std::uint8_t[], release>;

    bool begin(const mad_view& first, std::uint64_t announced) override;
    bool append(mad_bytes data) override;

    // Returns the headers and the unread data, moved up behind them.
    mad_bytes bytes();
    mad_bytes header() const { return {block_.get(), std::min(size_, mad_header_size)}; }
    mad_bytes class_header() const { return {block_.get() + header().size(), class_header_size_}; }
    mad_bytes data() const { return {block_.get() + data_begin_, size_ - data_begin_}; }

    // Moves the first unread bytes to `to`: headers, of which a copy stays here, then data. Returns
    // their number.
    std::size_t read(std::span<std::uint8_t> to);
    bool has_unread_data() const { return !data().empty(); }

    // Returns the block to the caller, and leaves the buffer empty.
    block detach();
    // Gathers the next message in `used`, which has room for `capacity` bytes.
    void reuse(block used, std::size_t capacity);
    std::size_t capacity() const { return capacity_; }

private:
    std::size_t headers_size() const { return header().size() + class_header_size_; }
    void compact();
    bool reserve(std::size_t capacity);
    void append_bytes(mad_bytes bytes);

    block block_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    std::size_t class_header_size_ = 0;
    std::size_t headers_read_ = 0;
    std::size_t data_begin_ = 0; // start of the unread data; a gap of read data is before it
};

} // namespace irpverbs::ibmf::rmpp

#endif
