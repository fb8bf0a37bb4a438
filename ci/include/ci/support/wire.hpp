// The messages between a daemon that serves HCAs and the processes that use them. A packet of a
// SOCK_SEQPACKET socket has one or several (ci/support/packet.hpp). A message holds everything by
// value: both ends are programs of one computer, and of one build of this table (wire::version).
#ifndef IRPVERBS_CI_SUPPORT_WIRE_HPP
#define IRPVERBS_CI_SUPPORT_WIRE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace irpverbs::ci::wire {

inline constexpr std::uint32_t magic = 0x56505249; // "IRPV"
/// Grows with each change of a message or of a structure that crosses.
inline constexpr std::uint16_t version = 7;

/// Bytes of a packet. A socket of the default size holds one of them.
inline constexpr std::size_t max_message = 160 * 1024;
/// Bytes of the attributes or entries that a verb returns; a caller's larger buffer is used up to
/// here.
inline constexpr std::size_t max_block = 64 * 1024;
/// Bytes of a datagram.
inline constexpr std::size_t max_datagram = 4096;

enum class kind : std::uint8_t {
    hello = 1, // the first message of a connection; may pass a descriptor of the client's memory
    welcome,   // its reply
    list,      // asks for the HCAs; the reply is a `listing`
    status,    // asks for the daemon's status: a header; the reply is a header and text
    request,   // a verb
    reply,     // its completion
    cancel,    // cancels the request of that id: a header; has no reply
    post,      // work requests, on the socket for calls or in a ring for posts
    posted,    // the reply to them; those in a ring have none
    bell,      // a header: the client has put work requests into a ring of a daemon that sleeps
    event      // a header: the daemon has reported a completion event in a ring of completions
};

/// The descriptors that go with the reply of CiOpenCa: the socket for calls, and the parts of the
/// rings for posts, of which the last two may be missing.
enum class open_descriptor : std::size_t { calls, posts_of_client, posts_of_daemon };
/// The descriptors of CiCreateCq and CiResizeCq: the ring, and of CiCreateCq the client's part. A
/// queue without a ring is polled and armed by requests.
enum class cq_descriptor : std::size_t { ring, client_part };

struct header {
    kind what;
    std::uint8_t verb; // its number in ci/verbs.def; of a post its wire::work
    std::array<std::uint8_t, 2> zero;
    std::uint32_t next; // bytes up to the next message of the same packet; 0: none follows
    std::uint64_t id;   // chosen by the client; the reply repeats it
};

struct hello {
    header head;
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t pointer_size;
};

struct welcome {
    header head;
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t zero;
    std::int32_t status;   // the connection is refused unless it is STATUS_SUCCESS
    std::uint32_t credits; // requests in progress at a time; waits for events do not count
};

using hca_name = std::array<char, 60>; // ended by a zero

/// Asks for the HCAs of that host, or for all HCAs if it is empty.
struct list {
    header head;
    hca_name host;
    std::uint32_t zero;
};

/// Followed by `count` of wire::hca.
struct listing {
    header head;
    std::uint64_t count;
};

struct hca {
    std::uint64_t guid;
    std::uint32_t ports;
    hca_name name;
};

/// A verb: its number, then the words of its stack location. Behind it lie, each padded to 8 bytes,
/// the value that the verb reads, and the input of its CI_UDATA. With CiRegisterMr and CiModifyMr
/// goes the descriptor of the common buffer in which the region lies, if it lies in one.
struct request {
    header head;
    std::uint64_t object; // its handle; of a verb that creates the parent's, or the HCA's GUID
    std::uint64_t number;
    std::uint32_t port;
    std::uint32_t value_size;
    std::uint32_t user_in;
    std::uint32_t user_out; // room for the output of the CI_UDATA
    std::uint64_t offset;   // of the region's first byte in the common buffer
};

/// The completion of a verb. Behind it lie, each padded to 8 bytes, the changed members of the
/// object, what the verb wrote to its buffer, and the output of the CI_UDATA.
struct reply {
    header head;
    std::int32_t status;
    std::uint32_t object_size;
    std::uint64_t information; // of a verb that creates: the handle
    std::uint32_t block_size;
    std::uint32_t user_out; // may exceed the room; then as many bytes follow as there is room
};

/// The kinds of posts.
enum class work : std::uint8_t { send = 1, receive, shared_receive, bind };

constexpr bool is_receive(work what) {
    return what == work::receive || what == work::shared_receive;
}

/// Behind it lie `count` work requests: a `send_work`, `receive_work` or `bind_work` each, followed
/// by its segments and its inline data, padded to 8 bytes.
struct post {
    header head;
    std::uint64_t queue; // the handle of the queue pair or shared receive queue
    std::uint64_t count;
};

struct posted {
    header head;
    std::int32_t status;
    std::uint32_t count; // that were posted before one failed
    std::uint64_t rkey;  // of a binding
};

struct segment {
    std::uint64_t address;
    std::uint32_t length;
    std::uint32_t key;
};

struct receive_work {
    std::uint64_t wr_id;
    std::uint64_t segments;
};

struct send_work {
    std::uint64_t wr_id;
    std::uint32_t type;
    std::uint32_t options;
    std::uint32_t immediate; // or the key that is made invalid
    std::uint32_t segments;
    std::uint32_t inline_size; // the sum of the lengths of the segments, or 0 without inline data
    std::uint32_t remote_qp;   // or the number of the shared receive queue, of XRC
    std::uint32_t remote_qkey;
    std::uint32_t pkey_index;
    std::uint64_t object; // the handle of the address vector or window
    std::uint64_t region; // the handle of that of a binding
    std::uint64_t address;
    std::uint64_t first; // the first operand of an atomic operation, or the length of a binding
    std::uint64_t second;
    std::uint32_t rkey;
    std::uint32_t access;
};

/// The binding of a window of type 1.
struct bind_work {
    std::uint64_t wr_id;
    std::uint64_t window; // a handle, as the next
    std::uint64_t region; // 0: none
    std::uint32_t options;
    std::uint32_t access;
    std::uint64_t current_rkey;
    segment range;
};

template <class Message>
inline constexpr bool is_message = std::is_trivially_copyable_v<Message>&&
                                       std::has_unique_object_representations_v<Message> &&
                                   sizeof(Message) % 8 == 0;
static_assert(is_message<hello> && is_message<welcome> && is_message<listing> && is_message<hca> &&
              is_message<request> && is_message<reply> && is_message<post> && is_message<posted> &&
              is_message<segment> && is_message<receive_work> && is_message<send_work> &&
              is_message<bind_work>);

/// Milliseconds that an attach waits for a reply.
inline constexpr int patience = 5000;

inline constexpr std::size_t padded(std::size_t size) { return (size + 7) / 8 * 8; }

} // namespace irpverbs::ci::wire

#endif
