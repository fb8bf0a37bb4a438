#include "subscriptions.hpp"

#include <basics.hpp>

#include <algorithm>

namespace irpverbs::subnet_manager {
namespace {

constexpr std::uint32_t any_producer = 0xffffff;

bool by_gid(const ib_mad_informinfo_t& info) { return info.GID != ib_gid_t{}; }

bool same_source(const ib_mad_informinfo_t& a, const ib_mad_informinfo_t& b) {
    if (by_gid(b)) return a.GID == b.GID;
    return !by_gid(a) && a.LIDRangeBegin == b.LIDRangeBegin && a.LIDRangeEnd == b.LIDRangeEnd;
}

bool same_inform_info(const ib_mad_informinfo_t& a, const ib_mad_informinfo_t& b) {
    return same_source(a, b) && a.Type == b.Type && (a.IsGeneric != 0) == (b.IsGeneric != 0) &&
           a.TrapNumber_DeviceID == b.TrapNumber_DeviceID && a.QPN == b.QPN &&
           a.RespTimeValue == b.RespTimeValue && a.ProducerType_VendorID == b.ProducerType_VendorID;
}

bool is_security_trap(const ib_mad_informinfo_t& info) {
    return info.IsGeneric != 0 && info.TrapNumber_DeviceID >= SM_BAD_MKEY_TRAP &&
           info.TrapNumber_DeviceID <= SM_BAD_SWITCH_PKEY_TRAP;
}

} // namespace

bool wants_event(const ib_mad_informinfo_t& info, const ib_mad_notice_t& notice) {
    if (by_gid(info)) {
        if (info.GID != notice.IssuerGID) return false;
    } else if (info.LIDRangeBegin != MAD_INFORMINFO_ALL_ENDPORTS_RANGE &&
               (notice.IssuerLID < info.LIDRangeBegin || notice.IssuerLID > info.LIDRangeEnd)) {
        return false;
    }
    const auto covers = [](std::uint32_t asked, std::uint32_t any, std::uint32_t is) {
        return asked == any || asked == is;
    };
    return (info.IsGeneric != 0) == (notice.IsGeneric != 0) &&
           covers(info.Type, MAD_INFORMINFO_TRAP_TYPE_FORWARD_ALL, notice.Type) &&
           covers(info.TrapNumber_DeviceID, MAD_INFORMINFO_TRAP_NUMBER_FORWARD_ALL,
                  notice.TrapNumber_DeviceID) &&
           covers(info.ProducerType_VendorID, any_producer, notice.ProducerType_VendorID);
}

std::uint16_t subscription_table::set(const subscriber& from, ib_mad_informinfo_t& info,
                                      bool trusted) {
    if (info.Subscribe > MAD_INFORMINFO_SUBSCRIBE) return SA_STATUS_ERR_REQ_INVALID;
    if (is_security_trap(info) && !trusted) return SA_STATUS_ERR_REQ_INVALID;
    if (info.Subscribe == MAD_INFORMINFO_SUBSCRIBE) info.QPN = from.qpn & 0xffffffu;
    const auto known = std::ranges::find_if(table_, [&](const subscription& s) {
        return s.from == from && same_inform_info(s.wants, info);
    });
    if (info.Subscribe == MAD_INFORMINFO_UNSUBSCRIBE) {
        if (known == table_.end()) return SA_STATUS_ERR_REQ_INVALID;
        table_.erase(known);
    } else if (known != table_.end()) {
        *known = {from, info};
    } else if (table_.size() >= capacity_) {
        return SA_STATUS_ERR_NO_RESOURCES;
    } else {
        table_.push_back({from, info});
    }
    return SA_STATUS_NO_ERROR;
}

std::size_t subscription_table::remove(const ib_gid_t& gid) {
    return std::erase_if(table_, [&](const subscription& s) { return s.from.gid == gid; });
}

ib_gid_t subscription_table::remove(const subscriber& whose) {
    ib_gid_t gid{};
    std::erase_if(table_, [&](const subscription& s) {
        if (s.from == whose) gid = s.from.gid;
        return s.from == whose;
    });
    return gid;
}

std::vector<const subscription*> subscription_table::matching(const ib_mad_notice_t& notice) const {
    std::vector<const subscription*> found;
    for (const subscription& s : table_)
        if (wants_event(s.wants, notice)) found.push_back(&s);
    return found;
}

std::vector<sa_informinfo_record_t> subscription_table::find(const sa_informinfo_record_t& wanted,
                                                             std::uint64_t components) const {
    std::vector<sa_informinfo_record_t> found;
    for (const subscription& s : table_) {
        sa_informinfo_record_t record{};
        record.SubscriberGID = s.from.gid; // Enum is always 0, as in OpenSM
        record.InformInfo = s.wants;
        if (matches(layout_of(&wanted), components, &wanted, &record)) found.push_back(record);
    }
    return found;
}

} // namespace irpverbs::subnet_manager
