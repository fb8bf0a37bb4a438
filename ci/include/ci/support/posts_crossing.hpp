// Posts as messages. They have no IRP: the reply holds the result of the call.
#ifndef IRPVERBS_CI_SUPPORT_POSTS_CROSSING_HPP
#define IRPVERBS_CI_SUPPORT_POSTS_CROSSING_HPP

#include <ci/support/crossing.hpp>

#include <vector>

namespace irpverbs::ci::crossing {

/// False: the work request has no data segments.
bool has_data(ib_wr_type_t type);
/// Bytes of the inline data of a work request.
std::uint64_t inline_length(const ib_send_wr_t& what);

/// The client end: writes work requests to a message.
class post_writer {
public:
    /// `queue`: a handle. `room` has at least 256 bytes.
    post_writer(std::span<std::byte> room, wire::work what, std::uint64_t id, std::uint64_t queue);

    /// Return false, without effect, if there is no room.
    bool add(const ib_send_wr_t& what, bool of_datagrams, directory& names);
    bool add(const ib_recv_wr_t& what);
    bool add(const ib_bind_wr_t& what, IB_MW* window, directory& names);

    ULONG count() const { return static_cast<ULONG>(head_.count); }
    /// The whole message.
    message finish();
    /// Reads the reply. False: it is none to this message.
    bool read_reply(message received, wire::posted& made) const;

private:
    bool has_room(std::size_t size) const { return size <= room_.size() - size_; }
    void put(const void* data, std::size_t size);
    void put_segments(const ib_local_ds_t* list, ULONG count);
    void put_inline(const ib_local_ds_t* list, ULONG count);

    std::span<std::byte> room_;
    std::size_t size_ = sizeof(wire::post);
    wire::post head_;
};

/// The serving end: posts the work requests of a message. Nothing of it is believed. Inline data
/// are read in the message; all other addresses are the client's, and only keys give access.
class post_server {
public:
    /// `reply` is the result. False: no client sends such a message, or there is no memory; work
    /// requests of it are not posted. `done`: the work requests at its begin that were posted
    /// before.
    bool serve(message received, directory& names, wire::posted& reply, std::uint32_t done = 0);

private:
    class reader;

    bool read_sends(reader& from, std::uint64_t count, const HCA_QP& qp, directory& names);
    bool read_send(reader& from, const HCA_QP& qp, directory& names, ib_send_wr_t& made);
    bool read_receives(reader& from, std::uint64_t count);
    bool read_segments(reader& from, std::uint64_t count, ib_local_ds_t*& made);
    bool serve_sends(reader& from, const wire::post& head, directory& names, wire::posted& reply,
                     std::uint32_t done);
    bool serve_receives(reader& from, const wire::post& head, directory& names, wire::posted& reply,
                        std::uint32_t done);
    static bool serve_binding(reader& from, const wire::post& head, directory& names,
                              wire::posted& reply);

    std::vector<ib_send_wr_t> sends_; // that follow one another, as the next
    std::vector<ib_recv_wr_t> receives_;
    std::vector<ib_local_ds_t> segments_;
};

} // namespace irpverbs::ci::crossing

#endif
