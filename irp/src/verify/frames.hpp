// The driver routines that a processor is in: a chain of frames on its stack.
#pragma once

#include "record.hpp"

#include <irp/csq.h>

#include <vector>

namespace irpverbs::irp::verify {

class irp_tracker;
struct pending_report;

enum class routine : std::uint8_t { dispatch, completion, cancel };

/// A driver's routine that is running, and its actions on its IRP so far.
struct frame {
    routine kind = routine::dispatch;
    record* irp = nullptr;
    int location = 0; // the driver's; above the top one: the IRP's originator
    std::uint32_t use = 0;
    DEVICE_OBJECT* device = nullptr;
    std::uint32_t device_number = 0;
    UCHAR major = 0;
    UCHAR minor = 0;
    KIRQL irql = 0;
    ULONG kernel_apc_disable = 0;
    ULONG special_apc_disable = 0;
    bool in_dpc = false;
    std::size_t spin_locks = 0;    // held on entry
    bool cancel_lock_held = false; // likewise

    bool forwarded = false;
    bool lower_returned = false;
    NTSTATUS lower = 0;
    int lower_location = 0;
    std::uint32_t lower_use = 0;
    bool completed = false;       // by this routine
    bool queue_completes = false; // a cancel-safe queue completes the cancelled IRP for it
    bool armed = false;           // a cancel routine was set
    bool routine_ex = false;      // IoSetCompletionRoutineEx was called, IoCallDriver not yet
    bool routine_ex_failed = false;
    bool used_late = false; // reported: it used the IRP after it passed it down or completed it
    const void* remove_lock = nullptr;
    std::uint64_t holder = 0; // number among the holders of remove locks; 0: it acquired none
    // The last thread-bound request that it sent, and the depth of its stack then.
    const IRP* bound = nullptr;
    std::uint64_t bound_generation = 0;
    const void* bound_depth = nullptr;
    // The last IRP that it queued under a key on its stack.
    const IO_CSQ_IRP_CONTEXT* key = nullptr;
    const IRP* keyed = nullptr;
    std::uint64_t keyed_generation = 0;
    // ERESOURCEs and push locks that it acquired, and holds.
    struct region_lock {
        const void* lock;
        core::call_stack where;
    };
    std::vector<region_lock> region_locks;
    frame* outer = nullptr;
};

/// Pushes a frame for the lifetime of the scope, and keeps the record for as long.
class frame_scope {
public:
    frame_scope(core::processor& self, frame& mine);
    ~frame_scope();
    frame_scope(const frame_scope&) = delete;
    frame_scope& operator=(const frame_scope&) = delete;

private:
    core::processor& self_;
    frame& mine_;
};

/// True of an object on the stack of the routine, which is as deep as `depth`. Stacks grow down.
bool is_on_stack(const frame& of, const void* depth, const void* object);

/// Checks that a routine which returns with that status holds no ERESOURCE or push lock that it
/// acquired. Under the tracker's lock.
pending_report* check_region_locks(irp_tracker& tracker, const frame& mine, NTSTATUS status);

/// The innermost routine that the caller is in; null outside of every routine, and in a DPC that
/// interrupted one.
frame* context_of(core::processor& self);

} // namespace irpverbs::irp::verify
