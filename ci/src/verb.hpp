// A verb as the common half knows it: its row of ci/verbs.def, as values and functions.
#pragma once

#include "request.hpp"

#include <array>

namespace irpverbs::ci {

class object;
struct hca_device;

/// The actions of ci/verbs.def.
enum class action : UCHAR { none, creates, ends, submits, calls, waits };

/// How a verb uses a caller's buffer.
struct buffer_use {
    enum class kind : UCHAR { none, in, out, sent_datagram, received_datagram };
    kind how = kind::none;
    SIZE_T unit = 0; // bytes; in: of the whole; out: of one that `number` and Information count
};

struct verb {
    const char* name = "?"; // of its function
    action does = action::none;
    bool returns_event = false; // Information is the event that it waited for
    buffer_use buffer;
    UCHAR object_at = 0; // offset of Reserved in HCA_CA, HCA_CQ, ...: the object
    /// From the FDO's dispatch routine on.
    NTSTATUS (*begin)(hca_device& device, IRP* irp, IO_STACK_LOCATION* location) = nullptr;
    /// The driver's operation.
    NTSTATUS (*call)(hca_device& device, const parameters& with, IRP* irp) = nullptr;
    /// Completes one that creates or ends an object; null: one that does neither.
    NTSTATUS (*end)(IRP* irp, IO_STACK_LOCATION* location, NTSTATUS status) = nullptr;
};

/// The rows; the first is that of codes which no verb has.
extern const verb verb_rows[];
/// The row of each code.
extern const std::array<UCHAR, 256> verb_row_of;

inline const verb& verb_of_code(UCHAR code) { return verb_rows[verb_row_of[code]]; }
inline const verb& verb_of(const IO_STACK_LOCATION* location) {
    return verb_of_code(location->MinorFunction);
}

inline object& object_of(const verb& row, void* shared) {
    return **reinterpret_cast<object**>(static_cast<char*>(shared) + row.object_at);
}

/// Puts an operation in place of each that a driver does not have: it answers STATUS_NOT_SUPPORTED,
/// or STATUS_SUCCESS where a driver may have nothing to do.
void complete_operations(HCA_OPERATIONS& operations);

} // namespace irpverbs::ci
