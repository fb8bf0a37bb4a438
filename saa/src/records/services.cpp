// ServiceRecord, ServiceAssociationRecord, ClassPortInfo, Notice, InformInfoRecord.
#include "attributes.hpp"

namespace irpverbs::saa {
namespace {

using namespace layout;

// `items` elements of ServiceData, whose component bits begin at `first`.
#define DATA(member, byte, width, items, first)                                                    \
    field {                                                                                        \
#member, hex, items, at(byte), width, width,                                               \
            offsetof(HOST, ServiceDataItems) + offsetof(sa_service_data_t, member), (width) / 8,   \
            (width) / 8, 0, ((1ull << (items)) - 1) << (first), {}                                 \
    }

#define HOST sa_service_record_t
constexpr std::array service_record{
    ROW(ServiceID, at(0), 64, SA_SR_COMPMASK_ID, hex, {}),
    PAIR(ServiceGID, ServiceGID, at(8), SA_SR_COMPMASK_GID, gid),
    ROW(ServiceP_Key, at(24), 16, SA_SR_COMPMASK_PKEY, hex, {}),
    ROW(Reserved, at(26), 16, SA_SR_COMPMASK_RESERVED, reserved, {}),
    ROW(ServiceLease, at(28), 32, SA_SR_COMPMASK_LEASE, number, {}),
    PAIR(ServiceKey, ServiceKey_hi, at(32), SA_SR_COMPMASK_KEY, key128),
    ARRAY(ServiceName, at(48), 8, 64, SA_SR_COMPMASK_NAME, text),
    DATA(ServiceData8, 112, 8, 16, 7),
    DATA(ServiceData16, 128, 16, 8, 23),
    DATA(ServiceData32, 144, 32, 4, 31),
    DATA(ServiceData64, 160, 64, 2, 35)};
#undef HOST

#undef DATA

#define HOST sa_service_assn_record_t
constexpr std::array service_association_record{
    PAIR(ServiceKey, ServiceKey_hi, at(0), SA_SERVASSOC_COMPMASK_SERVICEKEY, key128),
    ARRAY(ServiceName, at(16), 8, 64, SA_SERVASSOC_COMPMASK_SERVICENAME, text)};
#undef HOST

#define HOST ib_mad_classportinfo_t
static_assert(offsetof(HOST, RedirectLID) == 28 && offsetof(HOST, RedirectQ_Key) == 36);
static_assert(offsetof(HOST, TrapLID) == 60 && offsetof(HOST, TrapQ_Key) == 68);
constexpr std::array class_port_info{
    ROW(BaseVersion, at(0), 8, 0, number, {}),
    ROW(ClassVersion, at(1), 8, 0, number, {}),
    ROW(CapabilityMask, at(2), 16, 0, hex, {}),
    BIT_FIELD(CapabilityMask2, offsetof(HOST, RespTimeValue), 5, at(4), 27, hex, 0),
    BIT_FIELD(RespTimeValue, offsetof(HOST, RespTimeValue), 0, at(7, 3), 5, number, 0),
    PAIR(RedirectGID, RedirectGID_hi, at(8), 0, gid),
    BIT_FIELD(RedirectTC, 24, 24, at(24), 8, number, 0),
    BIT_FIELD(RedirectSL, 24, 20, at(25), 4, number, 0),
    BIT_FIELD(RedirectFL, 24, 0, at(25, 4), 20, hex, 0),
    ROW(RedirectLID, at(28), 16, 0, number, {}),
    ROW(RedirectP_Key, at(30), 16, 0, hex, {}),
    BIT_FIELD(Reserved2, 32, 24, at(32), 8, reserved, 0),
    BIT_FIELD(RedirectQP, 32, 0, at(33), 24, hex, 0),
    ROW(RedirectQ_Key, at(36), 32, 0, hex, {}),
    PAIR(TrapGID, TrapGID_hi, at(40), 0, gid),
    BIT_FIELD(TrapTC, 56, 24, at(56), 8, number, 0),
    BIT_FIELD(TrapSL, 56, 20, at(57), 4, number, 0),
    BIT_FIELD(TrapFL, 56, 0, at(57, 4), 20, hex, 0),
    ROW(TrapLID, at(60), 16, 0, number, {}),
    ROW(TrapP_Key, at(62), 16, 0, hex, {}),
    BIT_FIELD(TrapHL, 64, 24, at(64), 8, number, 0),
    BIT_FIELD(TrapQP, 64, 0, at(65), 24, hex, 0),
    ROW(TrapQ_Key, at(68), 32, 0, hex, {})};
#undef HOST

#define HOST ib_mad_notice_t
// NoticeToggle and NoticeCount share a word of 16 bits.
#define TOGGLE(name, shift, bit, width)                                                            \
    field {                                                                                        \
#name, number, 1, bit, width, width, 8, 2, 2, shift, 0, {}                                 \
    }
static_assert(offsetof(HOST, IssuerLID) == 6 && offsetof(HOST, DataDetails) == 10);
constexpr std::array notice{BIT_FIELD(IsGeneric, 0, 31, at(0), 1, number, 0),
                            BIT_FIELD(Type, 0, 24, at(0, 1), 7, number, 0, notice_types),
                            BIT_FIELD(ProducerType_VendorID, 0, 0, at(1), 24, hex, 0),
                            ROW(TrapNumber_DeviceID, at(4), 16, 0, number, {}),
                            ROW(IssuerLID, at(6), 16, 0, number, {}),
                            TOGGLE(NoticeToggle, 15, at(8), 1),
                            TOGGLE(NoticeCount, 0, at(8, 1), 15),
                            ARRAY(DataDetails, at(10), 8, 54, 0, bytes),
                            PAIR(IssuerGID, IssuerGID, at(64), 0, gid)};
#undef TOGGLE
#undef HOST

#define HOST sa_informinfo_record_t
constexpr auto inform_info_record =
    std::array{PAIR(SubscriberGID, SubscriberGID, at(0), SA_INFORMINFO_COMPMASK_SUBGID, gid),
               ROW(Enum, at(16), 16, SA_INFORMINFO_COMPMASK_ENUM, number, {}),
               ARRAY(Reserved, at(18), 8, 6, SA_INFORMINFO_COMPMASK_RESERVED, reserved)} +
    embedded(inform_info, 24, offsetof(HOST, InformInfo));
#undef HOST

} // namespace

LAYOUT(sa_service_record_t, "ServiceRecord", SA_SERVICERECORD_ATTRID, 176, 176, service_record)
LAYOUT(sa_service_assn_record_t, "ServiceAssociationRecord", SA_SERVICEASSNRECORD_ATTRID, 80, 80,
       service_association_record)
LAYOUT(ib_mad_classportinfo_t, "ClassPortInfo", SA_CLASSPORTINFO_ATTRID, 72, 72, class_port_info)
LAYOUT(ib_mad_notice_t, "Notice", SA_NOTICE_ATTRID, 80, 64, notice)
LAYOUT(sa_informinfo_record_t, "InformInfoRecord", SA_INFORMINFORECORD_ATTRID, 60, 60,
       inform_info_record)

} // namespace irpverbs::saa
