// The parts that the drivers "software:" and "roce:" share.
#pragma once

#include "fabric.hpp"

#include <string>
#include <string_view>

namespace irpverbs::hca_software {

/// Starts the HCAs of all channel adapters, and adds their number to `count`; or returns the first
/// failure, which `problem` explains.
NTSTATUS start_adapters(fabric& where, ULONG& count, std::string& problem);

/// HCA_DRIVER.Detach: the attachment is a fabric.
NTSTATUS detach_fabric(void* attachment);

/// Copies a text to the message of HCA_DRIVER.Attach, and returns the status.
NTSTATUS set_message(NTSTATUS status, char* message, SIZE_T size, std::string_view text);

/// "roce:INTERFACE", "roce:ADDRESS", "roce:NAME?raw" and "roce:TAP?tap=ADDRESS,...".
extern HCA_DRIVER roce_driver;

} // namespace irpverbs::hca_software
