// Segments that arrived out of order, until the missing ones arrive.
#ifndef IRPVERBS_IBMF_RMPP_REASSEMBLY_BUFFER_HPP
#define IRPVERBS_IBMF_RMPP_REASSEMBLY_BUFFER_HPP

#include <rmpp/protocol.hpp>

#include <array>
#include <memory>
#include <optional>

namespace irpverbs::ibmf::rmpp {

// Holds the segments of one window: the numbers of two segments differ by less than `capacity`.
class reassembly_buffer {
public:
    explicit reassembly_buffer(std::uint32_t capacity) : capacity_(capacity) {}

    enum class insert_result : std::uint8_t { inserted, duplicate, no_memory };
    insert_result insert(std::uint64_t segment, mad_bytes data);

    // Returns the data of a segment, if they are here. The bytes are valid until the next insert.
    std::optional<mad_bytes> find(std::uint64_t segment) const;
    void remove(std::uint64_t segment);
    void clear() { slots_.reset(); }

private:
    struct slot {
        std::uint64_t segment; // 0: none
        std::size_t size;
        std::array<std::uint8_t, rmpp_segment_size> data;
    };
    slot& slot_of(std::uint64_t segment) const { return slots_[segment % capacity_]; }

    std::uint32_t capacity_;
    std::unique_ptr<slot[]> slots_; // allocated when first needed
};

} // namespace irpverbs::ibmf::rmpp

#endif
