#include <events/subnet_event.hpp>

#include <boost/endian/conversion.hpp>

#include <cstdint>

namespace irpverbs::saa {

namespace {

// The offsets of a trap's details. Source: IBA tables 131 to 137 (Notice DataDetails).
constexpr std::size_t gid_at = 6;
constexpr std::size_t lid_at = 2;
constexpr std::size_t capability_mask_at = 6;
constexpr std::size_t image_guid_at = 6;

template <class Number>
Number detail_at(const ib_mad_notice_t& notice, std::size_t offset) {
    return boost::endian::endian_load<Number, sizeof(Number), boost::endian::order::big>(
        notice.DataDetails + offset);
}

subnet_event about_gid(ibmf_saa_subnet_event_t what, const ib_mad_notice_t& notice) {
    subnet_event event{what, {}};
    event.details.ie_gid = {detail_at<std::uint64_t>(notice, gid_at),
                            detail_at<std::uint64_t>(notice, gid_at + 8)};
    return event;
}

subnet_event about_lid(ibmf_saa_subnet_event_t what, const ib_mad_notice_t& notice) {
    subnet_event event{what, {}};
    event.details.ie_lid = detail_at<std::uint16_t>(notice, lid_at);
    return event;
}

} // namespace

std::optional<subnet_event> event_of(const ib_mad_notice_t& notice) {
    if (!notice.IsGeneric) return std::nullopt;
    subnet_event event;
    switch (notice.TrapNumber_DeviceID) {
    case SM_GID_IN_SERVICE_TRAP:
        return about_gid(IBMF_SAA_EVENT_GID_AVAILABLE, notice);
    case SM_GID_OUT_OF_SERVICE_TRAP:
        return about_gid(IBMF_SAA_EVENT_GID_UNAVAILABLE, notice);
    case SM_MGID_CREATED_TRAP:
        return about_gid(IBMF_SAA_EVENT_MCG_CREATED, notice);
    case SM_MGID_DESTROYED_TRAP:
        return about_gid(IBMF_SAA_EVENT_MCG_DELETED, notice);
    case SM_CAP_MASK_CHANGED_TRAP:
        event = about_lid(IBMF_SAA_EVENT_CAP_MASK_CHG, notice);
        event.details.ie_capability_mask = detail_at<std::uint32_t>(notice, capability_mask_at);
        return event;
    case SM_SYS_IMG_GUID_CHANGED_TRAP:
        event = about_lid(IBMF_SAA_EVENT_SYS_IMG_GUID_CHG, notice);
        event.details.ie_sysimg_guid = detail_at<std::uint64_t>(notice, image_guid_at);
        return event;
    default:
        return std::nullopt;
    }
}

} // namespace irpverbs::saa
