// Planted bugs: correct programs with one switch for each rule of the verifier that makes them
// break the rule.
#pragma once

#include "../../irp/verified.hpp"

#include <dispatch/machine.hpp>
#include <irp/wdm.h>

#include <string_view>

namespace planted {

using irpverbs::dispatch::sim_machine;

/// True if the bug that breaks `rule` is planted.
bool planted(std::string_view rule);

/// Plants the bug for the life of the scope.
class planting {
public:
    explicit planting(std::string_view rule);
    ~planting();
    planting(const planting&) = delete;
    planting& operator=(const planting&) = delete;
};

using program = void (*)(sim_machine& sim);

// Programs for each kind of code; each rule has its switch in one of them.
void completes_requests(sim_machine& sim); // a device that completes at once
void pends_requests(sim_machine& sim);     // a device that pends requests, which are cancelled
void queues_requests(sim_machine& sim);    // a device that pends requests in a cancel-safe queue
void filters_requests(sim_machine& sim);   // filters
void waits_for_requests(sim_machine& sim); // a filter that waits for what it passed down
void allocates_irps(sim_machine& sim);     // requests that the driver allocates
void starts_io(sim_machine& sim);          // StartIo
void uses_locks(sim_machine& sim);         // locks and regions
void changes_irql(sim_machine& sim);       // IRQLs
void plugs_and_plays(sim_machine& sim);    // Plug and Play
void use_resource();                       // an ERESOURCE
void use_dma_adapter();
void use_user_buffer();           // of a METHOD_NEITHER request
void uses_pool(sim_machine& sim); // pool memory, and objects in it

} // namespace planted
