// The steps of a provider before and after a verb.
#pragma once

#include "library.hpp"

#include <ci/driver.h>

namespace irpverbs::hca_user {

struct user_object;

/// One call of a verb, with its private buffer.
class bracket {
public:
    /// `verb` and `object` outlive it.
    bracket(const uvp_interface_t& functions, IO_STACK_LOCATION& verb, user_object& object)
        : functions_(functions), verb_(verb), object_(object) {}
    bracket(const bracket&) = delete;
    bracket& operator=(const bracket&) = delete;

    /// True if the provider has a step for the verb.
    static bool is_needed(const uvp_interface_t& functions, UCHAR verb);

    enum class decision { crosses, done, vetoed };

    /// Calls the pre function, and puts the bytes that cross into the verb's stack location.
    decision before();
    /// The status of a veto.
    NTSTATUS veto() const { return status_of(veto_); }
    /// Calls the post function after a verb with this status, and returns the status to complete
    /// the verb with. Must be called once, unless the verb was vetoed. IRQL: PASSIVE_LEVEL.
    NTSTATUS finish(NTSTATUS result);
    /// Makes the parameters of the verb that destroys the object, since the post function has
    /// failed: `finish` then returns its status, and calls nothing.
    IO_STACK_LOCATION& make_undo(UCHAR verb, void* object, NTSTATUS failure);

    WORK_QUEUE_ITEM work; // the caller's

private:
    void lend_buffer();
    void take_buffer_back();

    const uvp_interface_t& functions_;
    IO_STACK_LOCATION& verb_;
    user_object& object_;
    ci_umv_buf_t buffer_{};
    CI_UDATA bytes_{};
    bool lent_ = false;
    IO_STACK_LOCATION undo_{};
    NTSTATUS undone_ = STATUS_SUCCESS; // otherwise the status of the creation that is undone
    ib_api_status_t veto_ = IB_SUCCESS;
};

} // namespace irpverbs::hca_user
