#include "effects.hpp"

#include "connection.hpp"
#include "port.hpp"

namespace irpverbs::cm::engine {

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
    if (path_query_ != nullptr) path_query_->send_path_query();
    if (cancelled_query_ != nullptr) cancelled_query_->cancel_path_query();
}

} // namespace irpverbs::cm::engine
