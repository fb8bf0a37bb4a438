#include "effects.hpp"

#include "connection.hpp"
#include "port.hpp"

namespace irpverbs::cm::engine {

void effects::query_path(path_query& which) {
    path_query_ = &which;
    queries_ = &which.owner();
}

void effects::cancel_path_query(path_query& which) {
    cancelled_query_ = &which;
    cancels_ = &which.owner();
}

// Messages precede completions, so that a client that continues finds them sent.
void effects::perform(cm_port& at) {
    for (const outgoing& each : messages_)
        at.send(each);
    while (!IsListEmpty(&completed_))
        IoCompleteRequest(
            CONTAINING_RECORD(RemoveHeadList(&completed_), IRP, Tail.Overlay.ListEntry),
            IO_NO_INCREMENT);
    for (const connection_ref& each : qp_changes_)
        each->qp.send_verb();
    if (path_query_ != nullptr) path_query_->send();
    if (cancelled_query_ != nullptr) cancelled_query_->send_cancel();
}

} // namespace irpverbs::cm::engine
