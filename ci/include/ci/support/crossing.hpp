// Verbs as messages: ci/verbs.def generates both directions. The client end writes a request from
// the stack location of an IRP and returns the reply to it; the serving end makes the location of
// an IRP of its own from the request, and the reply when that IRP has completed.
#ifndef IRPVERBS_CI_SUPPORT_CROSSING_HPP
#define IRPVERBS_CI_SUPPORT_CROSSING_HPP

#include <ci/driver.h>
#include <ci/support/verb_action.hpp>
#include <ci/support/wire.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace irpverbs::ci::crossing {

using message = std::span<const std::byte>;

/// The type of an object: its block in ci/verbs.def, which is also the code of the verb that
/// creates it.
using object_type = UCHAR;
inline constexpr object_type type_mask = 0xF0;

/// The objects of one end, by handle. Objects are IB_CA*, IB_CQ*, ...
class directory {
public:
    /// 0: not an object of this connection.
    virtual std::uint64_t handle_of(object_type type, void* object) = 0;
    /// Null: not the handle of an object of that type.
    virtual void* object_of(object_type type, std::uint64_t handle) = 0;

protected:
    ~directory() = default;
};

/// A verb, as both ends see it.
struct traits {
    const char* name;
    UCHAR code;
    action does;
    object_type parent; // of a verb that creates: the type of its parent; 0: the HCA

    object_type type() const { return code & type_mask; }
};

/// Null: no verb has the code, or it does not cross.
const traits* find(UCHAR code);

/// The CI_UDATA in the stack location of a verb; null: it has none.
CI_UDATA* user_data_of(const IO_STACK_LOCATION& location);
/// Replaces it. False: the verb takes none.
bool set_user_data(IO_STACK_LOCATION& location, CI_UDATA* user_data);
/// The number of entries in the stack location of a verb that creates a queue.
ULONG& entries_of(IO_STACK_LOCATION& location);

/// The CA of an object, which is an HCA_CA*, HCA_CQ*, ... of that type.
HCA_CA* ca_of(object_type type, void* object);
/// The parent of an object that is not a CA: an HCA_CA*, HCA_PD*, ...
void* parent_of(object_type type, void* object);
/// The extension of an object.
void* extension_of(object_type type, void* object);

/// A message of several parts, for sendmsg. The parts are valid as long as what they were made
/// from.
class parts {
public:
    static constexpr std::size_t most = 9;

    parts() = default;
    parts(const parts&) = delete;
    parts& operator=(const parts&) = delete;

    /// Adds bytes, padded to 8. The first part is the message's fixed structure.
    void add(const void* data, std::size_t size);
    std::span<iovec> list() { return std::span(list_).first(count_); }
    std::size_t size() const { return size_; }

private:
    std::array<iovec, most> list_{};
    std::size_t count_ = 0;
    std::size_t size_ = 0;
};

// ---- the client end

/// A request that is to be sent.
struct outgoing {
    wire::request head{};
    alignas(16) std::array<std::byte, 512> value{};
    parts message;
};

/// Writes the request of the verb in `location`. `id`, and `object` of wire::request, are the
/// caller's. STATUS_SUCCESS. STATUS_INVALID_HANDLE: the verb's parameters name an object that
/// `names` does not have. STATUS_INVALID_PARAMETER: a datagram that is longer than
/// each path's MTU. STATUS_INVALID_BUFFER_SIZE: a CI_UDATA that is too long.
NTSTATUS write_request(const IO_STACK_LOCATION& location, directory& names, std::uint64_t id,
                       std::uint64_t object, outgoing& made);

struct result {
    NTSTATUS status = STATUS_SUCCESS;
    std::uint64_t information = 0; // of a verb that creates: the handle
};

/// Returns a reply to the buffers and the object of the verb in `location`. False: the message is
/// not a reply to it, and nothing was written.
bool read_reply(message reply, IO_STACK_LOCATION& location, directory& names, result& made);

// ---- the serving end

/// A request as it was received. The spans are parts of the message.
struct incoming {
    const traits* verb = nullptr;
    wire::request head{};
    message value;
    message user_in;
    std::size_t memory = 0; // bytes that begin() needs
};

/// The buffers of a verb that is being served.
struct buffers {
    void* value = nullptr; // that the verb reads, or writes
    std::size_t room = 0;  // bytes that it may write
    bool has_user_data = false;
    const void* user_in = nullptr;
    void* user_out = nullptr;
    alignas(CI_UDATA) std::array<std::byte, sizeof(CI_UDATA)> user_data{};
    std::size_t user_room = 0;
};

/// Checks the sizes of a request. STATUS_SUCCESS. STATUS_INVALID_DEVICE_REQUEST: no verb that
/// crosses. STATUS_INFO_LENGTH_MISMATCH: a size that is not the verb's.
NTSTATUS read_request(message received, incoming& made);

/// Fills the stack location of an IRP for the request, except for its major function and flags.
/// `object`: Argument1. `memory`: 16-aligned and zeroed, `from.memory` bytes, which, like `made`,
/// stay valid until the reply was written. STATUS_SUCCESS. STATUS_INVALID_HANDLE: the value names
/// an object that `names` does not have.
NTSTATUS begin(const incoming& from, directory& names, void* object, void* memory, buffers& made,
               IO_STACK_LOCATION& location);

/// A reply that is to be sent.
struct outgoing_reply {
    wire::reply head{};
    std::array<std::byte, 64> object{};
    parts message;
};

/// Writes the reply of a completed verb. `object`: that of the verb, of a verb that creates the
/// new one; null if it no longer exists. Information of a verb that creates is the caller's to set.
void write_reply(const traits& verb, std::uint64_t id, void* object, const IO_STATUS_BLOCK& result,
                 directory& names, buffers& used, outgoing_reply& made);

} // namespace irpverbs::ci::crossing

#endif
