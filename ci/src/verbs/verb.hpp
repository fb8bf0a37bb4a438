// A verb, as the common half sees it: its row of ci/verbs.def, as values and functions.
#pragma once

#include "request.hpp"

#include <ci/support/verb_action.hpp>

#include <array>

namespace irpverbs::ci {

class object;
struct hca_device;

/// How a verb uses a caller's buffer.
struct buffer_use {
    enum class kind : UCHAR { none, in, out, sent_datagram, received_datagram };
    kind how = kind::none;
    SIZE_T unit = 0; // bytes; in: the whole buffer; out: one of the units that `number` counts
};

struct verb {
    const char* name = "?"; // of the function
    action does = action::none;
    bool returns_event = false; // Information is the event that it waited for
    buffer_use buffer;
    UCHAR object_at = 0; // offset of Reserved in HCA_CA, HCA_CQ, ...: the object
    /// Handles the verb from the FDO's dispatch routine on.
    NTSTATUS (*begin)(hca_device& device, IRP* irp, IO_STACK_LOCATION* location) = nullptr;
    /// Calls the driver's operation.
    NTSTATUS (*call)(hca_device& device, const parameters& with, IRP* irp) = nullptr;
    /// Completes a verb that creates or ends an object; null for the other verbs.
    NTSTATUS (*end)(IRP* irp, IO_STACK_LOCATION* location, NTSTATUS status) = nullptr;
};

/// The rows. The first row stands for the codes that no verb has.
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

/// Replaces each operation that a driver lacks by one that returns STATUS_NOT_SUPPORTED, or
/// STATUS_SUCCESS where the operation is optional.
void complete_operations(HCA_OPERATIONS& operations);

} // namespace irpverbs::ci
