#include <ci/names.hpp>

#include "verb.hpp"

#include <span>

namespace irpverbs::ci {
namespace {

struct entry {
    ULONG value;
    std::string_view name;
};

std::string_view find(std::span<const entry> table, ULONG value) noexcept {
    for (const entry& each : table)
        if (each.value == value) return each.name;
    return "?";
}

std::vector<std::string_view> among(std::span<const entry> table, ULONG bits) {
    std::vector<std::string_view> names;
    for (const entry& each : table)
        if ((bits & each.value) != 0) names.push_back(each.name);
    return names;
}

constexpr entry port_states[] = {
    {IB_PORT_DOWN, "Down"},
    {IB_PORT_INIT, "Init"},
    {IB_PORT_ARMED, "Armed"},
    {IB_PORT_ACTIVE, "Active"},
    {IB_PORT_ACTIVE_DEFER, "ActiveDefer"},
};

constexpr entry physical_states[] = {
    {IB_PORT_PHYS_SLEEP, "Sleep"},       {IB_PORT_PHYS_POLLING, "Polling"},
    {IB_PORT_PHYS_DISABLED, "Disabled"}, {IB_PORT_PHYS_TRAINING, "Training"},
    {IB_PORT_PHYS_LINK_UP, "LinkUp"},    {IB_PORT_PHYS_ERROR_RECOVERY, "ErrorRecovery"},
    {IB_PORT_PHYS_TEST, "Test"},
};

constexpr entry completion_statuses[] = {
    {IB_WC_SUCCESS, "SUCCESS"},
    {IB_WC_LOCAL_LENGTH_ERROR, "LOCAL_LENGTH_ERROR"},
    {IB_WC_LOCAL_QP_OPERATION_ERROR, "LOCAL_QP_OPERATION_ERROR"},
    {IB_WC_LOCAL_EEC_OPERATION_ERROR, "LOCAL_EEC_OPERATION_ERROR"},
    {IB_WC_LOCAL_PROTECTION_ERROR, "LOCAL_PROTECTION_ERROR"},
    {IB_WC_FLUSHED, "FLUSHED"},
    {IB_WC_MW_BIND_ERROR, "MW_BIND_ERROR"},
    {IB_WC_BAD_RESPONSE_ERROR, "BAD_RESPONSE_ERROR"},
    {IB_WC_LOCAL_ACCESS_ERROR, "LOCAL_ACCESS_ERROR"},
    {IB_WC_REMOTE_INVALID_REQUEST_ERROR, "REMOTE_INVALID_REQUEST_ERROR"},
    {IB_WC_REMOTE_ACCESS_ERROR, "REMOTE_ACCESS_ERROR"},
    {IB_WC_REMOTE_OPERATION_ERROR, "REMOTE_OPERATION_ERROR"},
    {IB_WC_RETRY_EXCEEDED, "RETRY_EXCEEDED"},
    {IB_WC_RNR_RETRY_EXCEEDED, "RNR_RETRY_EXCEEDED"},
    {IB_WC_LOCAL_RDD_VIOLATION, "LOCAL_RDD_VIOLATION"},
    {IB_WC_REMOTE_INVALID_RD_REQUEST, "REMOTE_INVALID_RD_REQUEST"},
    {IB_WC_REMOTE_ABORTED, "REMOTE_ABORTED"},
    {IB_WC_INVALID_EEC_NUMBER, "INVALID_EEC_NUMBER"},
    {IB_WC_INVALID_EEC_STATE, "INVALID_EEC_STATE"},
    {IB_WC_FATAL_ERROR, "FATAL_ERROR"},
    {IB_WC_RESPONSE_TIMEOUT, "RESPONSE_TIMEOUT"},
    {IB_WC_GENERAL_ERROR, "GENERAL_ERROR"},
};

constexpr entry events[] = {
    {IB_AE_PATH_MIGRATED, "PATH_MIG"},
    {IB_AE_COMMUNICATION_ESTABLISHED, "COMM_EST"},
    {IB_AE_SQ_DRAINED, "SQ_DRAINED"},
    {IB_AE_SRQ_LIMIT_REACHED, "SRQ_LIMIT_REACHED"},
    {IB_AE_LAST_WQE_REACHED, "QP_LAST_WQE_REACHED"},
    {IB_AE_WQ_FATAL, "QP_FATAL"},
    {IB_AE_WQ_REQUEST_ERROR, "QP_REQ_ERR"},
    {IB_AE_WQ_ACCESS_ERROR, "QP_ACCESS_ERR"},
    {IB_AE_PATH_MIGRATION_ERROR, "PATH_MIG_ERR"},
    {IB_AE_SRQ_FATAL, "SRQ_ERR"},
    {IB_AE_XRC_DOMAIN_FATAL, "XRC_DOMAIN_FATAL"},
    {IB_AE_INVALID_XRCETH, "INVALID_XRCETH"},
    {IB_AE_RECEIVE_WQ_FATAL, "WQ_FATAL"},
    {IB_AE_CQ_ERROR, "CQ_ERR"},
    {IB_AE_PORT_ACTIVE, "PORT_ACTIVE"},
    {IB_AE_PORT_ERROR, "PORT_ERR"},
    {IB_AE_LID_CHANGE, "LID_CHANGE"},
    {IB_AE_PKEY_CHANGE, "PKEY_CHANGE"},
    {IB_AE_GID_CHANGE, "GID_CHANGE"},
    {IB_AE_SM_CHANGE, "SM_CHANGE"},
    {IB_AE_CLIENT_REREGISTER, "CLIENT_REREGISTER"},
    {IB_AE_LOCAL_FATAL, "DEVICE_FATAL"},
};

constexpr entry widths[] = {
    {IB_LINK_WIDTH_1X, "1X"},   {IB_LINK_WIDTH_4X, "4X"}, {IB_LINK_WIDTH_8X, "8X"},
    {IB_LINK_WIDTH_12X, "12X"}, {IB_LINK_WIDTH_2X, "2X"},
};

constexpr entry speeds[] = {
    {IB_LINK_SPEED_SDR, "SDR"},     {IB_LINK_SPEED_DDR, "DDR"}, {IB_LINK_SPEED_QDR, "QDR"},
    {IB_LINK_SPEED_FDR10, "FDR10"}, {IB_LINK_SPEED_FDR, "FDR"}, {IB_LINK_SPEED_EDR, "EDR"},
    {IB_LINK_SPEED_HDR, "HDR"},     {IB_LINK_SPEED_NDR, "NDR"},
};

constexpr entry atomicities[] = {
    {IB_ATOMIC_NONE, "none"},
    {IB_ATOMIC_HCA, "HCA"},
    {IB_ATOMIC_GLOBAL, "global"},
};

constexpr entry transports[] = {
    {IB_TRANSPORT_INFINIBAND, "InfiniBand"},
    {IB_TRANSPORT_IWARP, "iWARP"},
};

constexpr entry port_caps[] = {
    {IB_PORT_CAP_IS_SM, "IS_SM"},
    {IB_PORT_CAP_NOTICE_SUP, "NOTICE_SUP"},
    {IB_PORT_CAP_TRAP_SUP, "TRAP_SUP"},
    {IB_PORT_CAP_IPD_SUP, "IPD_SUP"},
    {IB_PORT_CAP_APM_SUP, "APM_SUP"},
    {IB_PORT_CAP_SL_MAP_SUP, "SL_MAP_SUP"},
    {IB_PORT_CAP_MKEY_NVRAM, "MKEY_NVRAM"},
    {IB_PORT_CAP_PKEY_NVRAM, "PKEY_NVRAM"},
    {IB_PORT_CAP_LED_INFO_SUP, "LED_INFO_SUP"},
    {IB_PORT_CAP_SM_DISABLED, "SM_DISABLED"},
    {IB_PORT_CAP_SYS_IMAGE_GUID_SUP, "SYS_IMAGE_GUID_SUP"},
    {IB_PORT_CAP_PKEY_SW_EXT_TRAP_SUP, "PKEY_SW_EXT_TRAP_SUP"},
    {IB_PORT_CAP_CABLE_INFO_SUP, "CABLE_INFO_SUP"},
    {IB_PORT_CAP_EXTENDED_SPEEDS_SUP, "EXTENDED_SPEEDS_SUP"},
    {IB_PORT_CAP_CAP_MASK2_SUP, "CAP_MASK2_SUP"},
    {IB_PORT_CAP_CM_SUP, "CM_SUP"},
    {IB_PORT_CAP_SNMP_SUP, "SNMP_SUP"},
    {IB_PORT_CAP_REINIT_SUP, "REINIT_SUP"},
    {IB_PORT_CAP_DEV_MGMT_SUP, "DEV_MGMT_SUP"},
    {IB_PORT_CAP_VENDOR_SUP, "VENDOR_SUP"},
    {IB_PORT_CAP_DR_NOTICE_SUP, "DR_NOTICE_SUP"},
    {IB_PORT_CAP_CAP_MASK_NOTICE_SUP, "CAP_MASK_NOTICE_SUP"},
    {IB_PORT_CAP_BOOT_MGMT_SUP, "BOOT_MGMT_SUP"},
    {IB_PORT_CAP_LINK_LATENCY_SUP, "LINK_LATENCY_SUP"},
    {IB_PORT_CAP_CLIENT_REREGISTER_SUP, "CLIENT_REREGISTER_SUP"},
    {IB_PORT_CAP_OTHER_LOCAL_CHANGES_SUP, "OTHER_LOCAL_CHANGES_SUP"},
    {IB_PORT_CAP_SPEED_WIDTH_PAIRS_SUP, "SPEED_WIDTH_PAIRS_SUP"},
    {IB_PORT_CAP_VENDOR_MADS_SUP, "VENDOR_MADS_SUP"},
    {IB_PORT_CAP_MCAST_PKEY_TRAP_SUP, "MCAST_PKEY_TRAP_SUP"},
    {IB_PORT_CAP_MCAST_FDB_TOP_SUP, "MCAST_FDB_TOP_SUP"},
    {IB_PORT_CAP_HIERARCHY_INFO_SUP, "HIERARCHY_INFO_SUP"},
};

constexpr entry ca_caps[] = {
    {IB_CA_CAP_RESIZE_MAX_WR, "RESIZE_MAX_WR"},
    {IB_CA_CAP_BAD_PKEY_COUNTER, "BAD_PKEY_COUNTER"},
    {IB_CA_CAP_BAD_QKEY_COUNTER, "BAD_QKEY_COUNTER"},
    {IB_CA_CAP_RAW_MULTICAST, "RAW_MULTICAST"},
    {IB_CA_CAP_AUTO_PATH_MIGRATION, "AUTO_PATH_MIGRATION"},
    {IB_CA_CAP_CHANGE_PHYSICAL_PORT, "CHANGE_PHYSICAL_PORT"},
    {IB_CA_CAP_UD_AV_PORT_ENFORCED, "UD_AV_PORT_ENFORCED"},
    {IB_CA_CAP_CURRENT_QP_STATE_MODIFIER, "CURRENT_QP_STATE_MODIFIER"},
    {IB_CA_CAP_SHUTDOWN_PORT, "SHUTDOWN_PORT"},
    {IB_CA_CAP_INIT_TYPE, "INIT_TYPE"},
    {IB_CA_CAP_PORT_ACTIVE_EVENT, "PORT_ACTIVE_EVENT"},
    {IB_CA_CAP_SYSTEM_IMAGE_GUID, "SYSTEM_IMAGE_GUID"},
    {IB_CA_CAP_RC_RNR_NAK, "RC_RNR_NAK"},
    {IB_CA_CAP_SRQ_RESIZE, "SRQ_RESIZE"},
    {IB_CA_CAP_N_NOTIFY_CQ, "N_NOTIFY_CQ"},
    {IB_CA_CAP_RAW_IPV6, "RAW_IPV6"},
    {IB_CA_CAP_RAW_ETHERTYPE, "RAW_ETHERTYPE"},
    {IB_CA_CAP_MEMORY_WINDOWS, "MEMORY_WINDOWS"},
    {IB_CA_CAP_MEMORY_WINDOWS_2A, "MEMORY_WINDOWS_2A"},
    {IB_CA_CAP_MEMORY_WINDOWS_2B, "MEMORY_WINDOWS_2B"},
    {IB_CA_CAP_LOCAL_DMA_LKEY, "LOCAL_DMA_LKEY"},
    {IB_CA_CAP_FAST_REGISTER, "FAST_REGISTER"},
    {IB_CA_CAP_BLOCK_LIST_PHYSICAL, "BLOCK_LIST_PHYSICAL"},
    {IB_CA_CAP_ZERO_BASED_ADDRESS, "ZERO_BASED_ADDRESS"},
    {IB_CA_CAP_RELIABLE_DATAGRAM, "RELIABLE_DATAGRAM"},
    {IB_CA_CAP_XRC, "XRC"},
    {IB_CA_CAP_UD_MULTICAST_LOOPBACK_BLOCK, "UD_MULTICAST_LOOPBACK_BLOCK"},
    {IB_CA_CAP_CQ_RESIZE, "CQ_RESIZE"},
    {IB_CA_CAP_UD_MULTICAST, "UD_MULTICAST"},
    {IB_CA_CAP_MULTIPLE_PAGE_SIZES, "MULTIPLE_PAGE_SIZES"},
    {IB_CA_CAP_LOCAL_INVALIDATE_FENCE, "LOCAL_INVALIDATE_FENCE"},
    {IB_CA_CAP_BASE_QUEUE_MANAGEMENT, "BASE_QUEUE_MANAGEMENT"},
};

} // namespace

std::string_view name_of(IB_PORT_STATE state) noexcept { return find(port_states, state); }
std::string_view name_of(IB_PORT_PHYSICAL_STATE state) noexcept {
    return find(physical_states, state);
}
std::string_view name_of(IB_WC_STATUS status) noexcept { return find(completion_statuses, status); }

std::string_view name_of(IB_ASYNC_EVENT event) noexcept { return find(events, event); }
std::string_view name_of(IB_LINK_WIDTH width) noexcept { return find(widths, width); }
std::string_view name_of(IB_LINK_SPEED speed) noexcept { return find(speeds, speed); }
std::string_view name_of(IB_ATOMIC atomicity) noexcept { return find(atomicities, atomicity); }
std::string_view name_of(IB_TRANSPORT transport) noexcept { return find(transports, transport); }
std::string_view verb_of(UCHAR minor_function) noexcept {
    return verb_of_code(minor_function).name;
}

std::vector<std::string_view> link_widths(ULONG bits) { return among(widths, bits); }
std::vector<std::string_view> link_speeds(ULONG bits) { return among(speeds, bits); }
std::vector<std::string_view> port_capabilities(ULONG bits) { return among(port_caps, bits); }
std::vector<std::string_view> ca_capabilities(ULONG bits) { return among(ca_caps, bits); }

} // namespace irpverbs::ci
