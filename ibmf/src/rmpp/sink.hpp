// Where received data go: streamed as they come in order, or gathered in one buffer.
#ifndef IRPVERBS_IBMF_RMPP_SINK_HPP
#define IRPVERBS_IBMF_RMPP_SINK_HPP

#include <rmpp/protocol.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

namespace irpverbs::ibmf::rmpp {

// Called from inside receive; false ends the transfer with a STOP (ending::refused). The bytes are
// lent for the call.
class sink {
public:
    sink() = default;
    sink(const sink&) = delete;
    sink& operator=(const sink&) = delete;
    virtual ~sink() = default;

    // Segment 1, checked. `announced`: bytes that the sender says all segments have after their
    // RMPP headers; 0 when it does not say.
    virtual bool begin(const mad_view& first, std::uint64_t announced) = 0;

    // The next data; without class headers; may be empty.
    virtual bool append(mad_bytes data) = 0;
};

// One block: the common header, the class header, all data. It grows as data come, not as they are
// announced.
class message_buffer final : public sink {
public:
    struct release {
        void operator()(std::uint8_t* block) const { std::free(block); }
    };
    using block = std::unique_ptr<std::uint8_t[], release>;

    bool begin(const mad_view& first, std::uint64_t announced) override;
    bool append(mad_bytes data) override;

    // The headers, then the data that have not been read, moved up behind them.
    mad_bytes bytes();
    mad_bytes header() const { return {block_.get(), std::min(size_, mad_header_size)}; }
    mad_bytes class_header() const { return {block_.get() + header().size(), class_header_size_}; }
    mad_bytes data() const { return {block_.get() + data_begin_, size_ - data_begin_}; }

    // Moves the first bytes that have not been read out of here: headers, of which a copy stays,
    // then data. Returns how many there were, at most what has room.
    std::size_t read(std::span<std::uint8_t> to);
    bool has_unread_data() const { return !data().empty(); }

    // Gives the block away; this is empty afterwards.
    block take();

private:
    std::size_t headers_size() const { return header().size() + class_header_size_; }
    void close_up();
    bool reserve(std::size_t capacity);
    void put(mad_bytes bytes);

    block block_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    std::size_t class_header_size_ = 0;
    std::size_t headers_read_ = 0;
    std::size_t data_begin_ = 0; // of what has not been read; behind a gap where it has
};

} // namespace irpverbs::ibmf::rmpp

#endif
