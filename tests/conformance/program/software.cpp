#include "software.hpp"

#include <hca/software.h>

namespace {

template <HCA_SOFTWARE_COMMANDS Commands>
NTSTATUS prepare(ib_guid_t guid) {
    return HcaSoftwareSetCommands(guid, Commands);
}

constexpr CONFORMANCE_VARIANT variants[] = {
    {"inline", prepare<HcaCommandsInline>, FALSE},
    {"dpc", prepare<HcaCommandsByDpc>, FALSE},
    {"either", prepare<HcaCommandsEither>, FALSE},
    {"worker", prepare<HcaCommandsBlockingWorker>, FALSE},
    {"blocking", prepare<HcaCommandsBlocking>, TRUE},
};

NTSTATUS raise(ib_guid_t guid, UCHAR port, IB_ASYNC_EVENT event) {
    switch (event) {
    case IB_AE_PORT_ERROR:
        return HcaSoftwareSetLink(guid, port, FALSE);
    case IB_AE_PORT_ACTIVE:
        return HcaSoftwareSetLink(guid, port, TRUE);
    case IB_AE_LID_CHANGE:
        return HcaSoftwareChangeLid(guid, port, 7);
    case IB_AE_PKEY_CHANGE:
        return HcaSoftwareChangePKey(guid, port, 1, 0x8001);
    case IB_AE_GID_CHANGE:
        return HcaSoftwareChangePrefix(guid, port, 0xFEC0000000000001);
    case IB_AE_SM_CHANGE:
        return HcaSoftwareChangeSm(guid, port, 9, 0);
    case IB_AE_CLIENT_REREGISTER:
        return HcaSoftwareClientReregister(guid, port);
    default:
        return STATUS_NOT_SUPPORTED;
    }
}

} // namespace

const CONFORMANCE_ADAPTER software_adapter = {
    .Scheme = "software",
    .Variants = variants,
    .VariantCount = sizeof(variants) / sizeof(variants[0]),
    .RealOnly = FALSE,
    .RaisePortEvent = raise,
    .Fail = HcaSoftwareFail,
    .Complete = HcaSoftwareInsertCompletion,
};
