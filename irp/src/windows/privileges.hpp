// The privileges of the accounts.
#ifndef IRPVERBS_IRP_SRC_WINDOWS_PRIVILEGES_HPP
#define IRPVERBS_IRP_SRC_WINDOWS_PRIVILEGES_HPP

#include <irp/device_security.h>
#include <windows/wdk/security.h>

namespace irpverbs::windows {

bool has_privilege(IRP_ACCOUNT account, const LUID& privilege);

} // namespace irpverbs::windows

#endif
