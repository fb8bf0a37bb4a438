#include <engine/client_table.hpp>

using namespace irpverbs::ibmf;

namespace {

// Called under the lock. Null: not a message of the client.
message* message_of(const client& who, const ibmf_msg_t* public_part) {
    message* const which = who.at->messages.find(public_part);
    return which != nullptr && which->who.load(std::memory_order_acquire) == &who ? which : nullptr;
}

} // namespace

extern "C" {

int ibmf_alloc_msg(ibmf_handle_t ibmf_handle, int flag, ibmf_msg_t** ibmf_msgpp) {
    if (ibmf_msgpp == nullptr) return IBMF_INVALID_ARG;
    if (flag != IBMF_ALLOC_SLEEP && flag != IBMF_ALLOC_NOSLEEP) return IBMF_BAD_FLAGS;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    const port_context::guard locked(*who->at);
    if (!who->ready) return IBMF_BAD_HANDLE;
    message* const fresh = who->at->messages.allocate(*who);
    *ibmf_msgpp = fresh != nullptr ? &fresh->public_part : nullptr;
    if (fresh == nullptr) return IBMF_NO_RESOURCES;
    InsertTailList(&who->messages, &fresh->client_entry);
    who->count(&ibmf_stats_t::st_msgs_alloced);
    return IBMF_SUCCESS;
}

int ibmf_free_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t** ibmf_msgpp) {
    if (ibmf_msgpp == nullptr || *ibmf_msgpp == nullptr) return IBMF_INVALID_ARG;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    const port_context::guard locked(*who->at);
    message* const gone = message_of(*who, *ibmf_msgpp);
    if (gone == nullptr) return IBMF_BAD_HANDLE;
    if (gone->busy) return IBMF_BUSY;
    who->free(*gone);
    *ibmf_msgpp = nullptr;
    return IBMF_SUCCESS;
}

int ibmf_cancel_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp) {
    if (msgp == nullptr) return IBMF_INVALID_ARG;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    port_context::guard locked(*who->at);
    const message* const which = message_of(*who, msgp);
    if (which == nullptr) return IBMF_INVALID_ARG;
    return who->at->cancel(locked, *which) ? IBMF_SUCCESS : IBMF_FAILURE;
}

int ibmf_stream_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp, ibmf_msg_cb_t data_cb,
                    void* data_cb_args) {
    if (msgp == nullptr) return IBMF_INVALID_ARG;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    if (!who->serializes_callbacks()) return IBMF_NOT_SUPPORTED;
    const port_context::guard locked(*who->at);
    message* const which = message_of(*who, msgp);
    if (which == nullptr) return IBMF_INVALID_ARG;
    if (which->busy) return IBMF_BUSY;
    which->data_call = data_cb;
    which->data_argument = data_cb_args;
    return IBMF_SUCCESS;
}

int ibmf_read_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp, void* into, size_t* length) {
    if (msgp == nullptr || into == nullptr || length == nullptr) return IBMF_INVALID_ARG;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    port_context::guard locked(*who->at);
    const message* const which = message_of(*who, msgp);
    if (which == nullptr) return IBMF_INVALID_ARG;
    *length = who->at->read(locked, *which, {static_cast<std::uint8_t*>(into), *length});
    return IBMF_SUCCESS;
}

int ibmf_resume_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp) {
    if (msgp == nullptr) return IBMF_INVALID_ARG;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    port_context::guard locked(*who->at);
    const message* const which = message_of(*who, msgp);
    if (which == nullptr) return IBMF_INVALID_ARG;
    who->at->resume(locked, *which);
    return IBMF_SUCCESS;
}

int ibmf_query_transfer(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp,
                        ibmf_transfer_result_t* result) {
    if (msgp == nullptr || result == nullptr) return IBMF_INVALID_ARG;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    const port_context::guard locked(*who->at);
    const message* const which = message_of(*who, msgp);
    if (which == nullptr) return IBMF_INVALID_ARG;
    if (which->busy) return IBMF_BUSY;
    result->tr_status = static_cast<std::uint8_t>(which->transfer_end.code);
    result->tr_by_peer = which->transfer_end.by_peer ? B_TRUE : B_FALSE;
    result->tr_segments_resent = which->segments_resent;
    return IBMF_SUCCESS;
}

} // extern "C"
