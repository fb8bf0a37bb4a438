// The C interface.
#include "manager_core.hpp"

#include <ci/support/fail_unsent.hpp>
#include <subnet_manager/subnet_manager.h>

#include <algorithm>
#include <cstring>
#include <new>

using namespace irpverbs::subnet_manager;

struct _SM_MANAGER {
    std::shared_ptr<manager_core> core;
};

namespace {

manager_options options_of(const SM_OPTIONS& from) {
    return {.hca = from.Hca,
            .port = from.Port,
            .priority = from.Priority,
            .sm_key = from.SmKey,
            .standby_poll_ms = from.StandbyPollMs,
            .standby_retries = from.StandbyRetries,
            .lmc = from.Lmc,
            .sa_key = from.SaKey,
            .smps_in_flight = from.SmpsInFlight,
            .light_sweep_ms = from.LightSweepMs,
            .partitions = from.Partitions != nullptr ? from.Partitions : ""};
}

NTSTATUS submit(const SM_MANAGER* manager, detail::manager_verb verb, IRP* irp) {
    if (manager != nullptr) return manager->core->submit(verb, irp);
    irpverbs::ci::detail::fail_unsent(irp, STATUS_INVALID_PARAMETER);
    return STATUS_INVALID_PARAMETER;
}

} // namespace

extern "C" {

void SmInitializeOptions(SM_OPTIONS* options, ib_guid_t hca) {
    const manager_options defaults;
    *options = {};
    options->Size = sizeof *options;
    options->Port = defaults.port;
    options->Priority = defaults.priority;
    options->Lmc = defaults.lmc;
    options->Hca = hca;
    options->SmKey = defaults.sm_key;
    options->SaKey = defaults.sa_key;
    options->StandbyPollMs = defaults.standby_poll_ms;
    options->StandbyRetries = defaults.standby_retries;
    options->SmpsInFlight = defaults.smps_in_flight;
    options->LightSweepMs = defaults.light_sweep_ms;
}

NTSTATUS SmCreate(const SM_OPTIONS* options, SM_MANAGER** manager) {
    if (options == nullptr || manager == nullptr) return STATUS_INVALID_PARAMETER;
    if (options->Size == 0 || options->Size > sizeof *options) return STATUS_INVALID_PARAMETER;
    SM_OPTIONS whole;
    SmInitializeOptions(&whole, 0);
    std::memcpy(&whole, options, options->Size);
    try {
        *manager = new SM_MANAGER{std::make_shared<manager_core>(options_of(whole))};
    } catch (const std::bad_alloc&) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    return STATUS_SUCCESS;
}

void SmDestroy(SM_MANAGER* manager) {
    if (manager == nullptr) return;
    manager->core->request_stop();
    delete manager;
}

NTSTATUS SmStart(SM_MANAGER* manager, PIRP irp) {
    return submit(manager, detail::manager_verb::start, irp);
}

NTSTATUS SmWaitUntilUp(SM_MANAGER* manager, PIRP irp) {
    return submit(manager, detail::manager_verb::wait_until_up, irp);
}

NTSTATUS SmStop(SM_MANAGER* manager, PIRP irp) {
    return submit(manager, detail::manager_verb::stop, irp);
}

NTSTATUS SmCheckPartitions(const char* text, const char* name, char* message, SIZE_T size) {
    if (text == nullptr || name == nullptr) return STATUS_INVALID_PARAMETER;
    try {
        const std::string problem = partitions_problem(text, name);
        if (problem.empty()) return STATUS_SUCCESS;
        if (message != nullptr && size != 0)
            *std::copy_n(problem.data(), std::min<std::size_t>(problem.size(), size - 1), message) =
                '\0';
        return STATUS_DATA_ERROR;
    } catch (const std::bad_alloc&) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

} // extern "C"
