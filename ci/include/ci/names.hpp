/// Names of the constants of the channel interface, for people and for programs that read text. A
/// value without a name is "?". IRQL: any.
#pragma once

#include <ci/ci.h>

#include <string_view>
#include <vector>

namespace irpverbs::ci {

/// "Active", "LinkUp".
NT_API std::string_view name_of(IB_PORT_STATE state) noexcept;
NT_API std::string_view name_of(IB_PORT_PHYSICAL_STATE state) noexcept;
/// The names of ibv_get_async_event(3): "PORT_ACTIVE".
NT_API std::string_view name_of(IB_ASYNC_EVENT event) noexcept;
/// "4X", "EDR", for one bit.
NT_API std::string_view name_of(IB_LINK_WIDTH width) noexcept;
NT_API std::string_view name_of(IB_LINK_SPEED speed) noexcept;
/// "HCA".
NT_API std::string_view name_of(IB_ATOMIC atomicity) noexcept;
/// "iWARP".
NT_API std::string_view name_of(IB_TRANSPORT transport) noexcept;

/// IB_WC_* without that prefix: "RETRY_EXCEEDED".
NT_API std::string_view name_of(IB_WC_STATUS status) noexcept;

/// The verb of a stack location's minor function: "CiQueryPort".
NT_API std::string_view verb_of(UCHAR minor_function) noexcept;

/// The names of the bits that are set, lowest first; bits without a name are omitted.
NT_API std::vector<std::string_view> link_widths(ULONG bits);
NT_API std::vector<std::string_view> link_speeds(ULONG bits);
/// IB_PORT_CAP_* and IB_CA_CAP_* without that prefix.
NT_API std::vector<std::string_view> port_capabilities(ULONG bits);
NT_API std::vector<std::string_view> ca_capabilities(ULONG bits);

/// Bytes; 0 for a value that is none of IB_MTU.
constexpr ULONG bytes_of(IB_MTU mtu) noexcept {
    return mtu >= IB_MTU_256 && mtu <= IB_MTU_4096 ? 128u << mtu : 0;
}

} // namespace irpverbs::ci
