// The parts of a request that is built in one step, for an IRP whose next location has its major
// function.
#pragma once

#include <irp/device.h>

namespace irpverbs::irp {

struct control_buffers {
    void* input;
    ULONG input_length;
    void* output;
    ULONG output_length;
};

/// Add parameters and buffers: of a read or write, as the device's Flags demand; of a control code;
/// of IRP_MJ_QUERY_INFORMATION or IRP_MJ_SET_INFORMATION. False: memory is short, and
/// free_buffers frees those that were added.
bool add_transfer(IRP* irp, const DEVICE_OBJECT& device, void* buffer, ULONG length,
                  const LARGE_INTEGER* offset);
bool add_control(IRP* irp, ULONG code, const control_buffers& buffers);
bool add_information(IRP* irp, void* information, ULONG length);

/// Sends the IRP, waits for its completion and returns its status. The IRP is the caller's again.
NTSTATUS send_synchronously(DEVICE_OBJECT* device, IRP* irp);

} // namespace irpverbs::irp
