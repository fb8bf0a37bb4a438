// Statuses of a provider and those of verbs.
#include "library.hpp"

#include <ci/driver.h>

namespace irpverbs::hca_user {

NTSTATUS status_of(ib_api_status_t status) {
    switch (status) {
    case IB_SUCCESS:
    case IB_VERBS_PROCESSING_DONE:
        return STATUS_SUCCESS;
    case IB_INSUFFICIENT_RESOURCES:
    case IB_INSUFFICIENT_MEMORY:
        return STATUS_INSUFFICIENT_RESOURCES;
    case IB_INVALID_PERMISSION:
        return STATUS_ACCESS_DENIED;
    case IB_INVALID_STATE:
    case IB_INVALID_QP_STATE:
        return STATUS_INVALID_DEVICE_STATE;
    case IB_RESOURCE_BUSY:
        return STATUS_DEVICE_BUSY;
    case IB_OVERFLOW:
        return STATUS_BUFFER_OVERFLOW;
    case IB_NOT_FOUND:
        return STATUS_NOT_FOUND;
    case IB_CANCELED:
        return STATUS_CANCELLED;
    case IB_UNSUPPORTED:
        return STATUS_NOT_SUPPORTED;
    case IB_ERROR:
        return STATUS_UNSUCCESSFUL;
    default:
        return status > IB_ERROR ? STATUS_UNSUCCESSFUL : STATUS_INVALID_PARAMETER;
    }
}

namespace {

ib_api_status_t handle_status(UCHAR verb) {
    switch (verb & 0xF0) {
    case HCA_MN_OPEN_CA:
        return IB_INVALID_CA_HANDLE;
    case HCA_MN_CREATE_CQ:
        return IB_INVALID_CQ_HANDLE;
    case HCA_MN_ALLOCATE_PD:
        return IB_INVALID_PD_HANDLE;
    case HCA_MN_REGISTER_MR:
        return IB_INVALID_MR_HANDLE;
    case HCA_MN_ALLOCATE_MW:
        return IB_INVALID_MW_HANDLE;
    case HCA_MN_CREATE_AV:
        return IB_INVALID_AV_HANDLE;
    case HCA_MN_CREATE_QP:
        return IB_INVALID_QP_HANDLE;
    case HCA_MN_CREATE_SRQ:
        return IB_INVALID_SRQ_HANDLE;
    case HCA_MN_ATTACH_MCAST:
        return IB_INVALID_MCAST_HANDLE;
    default:
        return IB_INVALID_HANDLE;
    }
}

} // namespace

ib_api_status_t provider_status_of(NTSTATUS status, UCHAR verb) {
    switch (status) {
    case STATUS_SUCCESS:
    case STATUS_BUFFER_OVERFLOW: // a query whose block was cut
        return IB_SUCCESS;
    case STATUS_INSUFFICIENT_RESOURCES:
        return IB_INSUFFICIENT_RESOURCES;
    case STATUS_INVALID_PARAMETER:
        return verb == HCA_MN_CREATE_CQ || verb == HCA_MN_RESIZE_CQ ? IB_INVALID_CQ_SIZE
                                                                    : IB_INVALID_PARAMETER;
    case STATUS_INVALID_HANDLE:
        return handle_status(verb);
    case STATUS_ACCESS_DENIED:
    case STATUS_ACCESS_VIOLATION:
        return IB_INVALID_PERMISSION;
    case STATUS_INVALID_DEVICE_STATE:
        return verb == HCA_MN_MODIFY_QP ? IB_INVALID_QP_STATE : IB_INVALID_STATE;
    case STATUS_DEVICE_BUSY:
        return IB_RESOURCE_BUSY;
    case STATUS_NOT_FOUND:
        return IB_NOT_FOUND;
    case STATUS_CANCELLED:
        return IB_CANCELED;
    case STATUS_NOT_SUPPORTED:
        return IB_UNSUPPORTED;
    default:
        return NT_SUCCESS(status) ? IB_SUCCESS : IB_ERROR;
    }
}

} // namespace irpverbs::hca_user
