#include <engine/status.hpp>

namespace irpverbs::ibmf {

NTSTATUS status_of(int ibmf_status) {
    switch (ibmf_status) {
    case IBMF_SUCCESS:
        return STATUS_SUCCESS;
    case IBMF_PARTIAL_TRANSFER:
        return STATUS_BUFFER_OVERFLOW;
    case IBMF_TRANS_TIMEOUT:
        return STATUS_IO_TIMEOUT;
    case IBMF_TRANS_FAILURE:
        return STATUS_REQUEST_ABORTED;
    case IBMF_UNEXP_TRANS_RECVD:
        return STATUS_INVALID_NETWORK_RESPONSE;
    case IBMF_TRANSPORT_FAILURE:
        return STATUS_IO_DEVICE_ERROR;
    case IBMF_BAD_HANDLE:
    case IBMF_BAD_QP_HANDLE:
        return STATUS_INVALID_HANDLE;
    case IBMF_BUSY:
        return STATUS_DEVICE_BUSY;
    case IBMF_TID_IN_USE:
    case IBMF_PORT_IN_USE:
        return STATUS_SHARING_VIOLATION;
    case IBMF_BAD_PORT_STATE:
        return STATUS_DEVICE_NOT_READY;
    case IBMF_NO_RESOURCES:
    case IBMF_NO_MEMORY:
        return STATUS_INSUFFICIENT_RESOURCES;
    case IBMF_NO_RECORDS:
        return STATUS_NOT_FOUND;
    case IBMF_UNSUPP_METHOD:
    case IBMF_UNSUPP_METHOD_ATTR:
    case IBMF_NOT_SUPPORTED:
        return STATUS_NOT_SUPPORTED;
    case IBMF_BAD_NODE:
    case IBMF_BAD_PORT:
        return STATUS_NO_SUCH_DEVICE;
    case IBMF_FAILURE:
        return STATUS_UNSUCCESSFUL;
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

} // namespace irpverbs::ibmf
