#include "planted.hpp"

#include "../../irp/breaking_pnp_driver.hpp"

namespace planted {

void plugs_and_plays(sim_machine& sim) {
    sim.spawn("manager", [] {
        for (const bool surprise : {true, false})
            irpverbs::testing::breaking_pnp_driver::play(planted, surprise);
    });
    sim.run();
}

} // namespace planted
