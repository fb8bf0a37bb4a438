// Ctrl-C half way through the suite.
#pragma once

namespace irpverbs::conformance {

/// From now on SIGINT and SIGTERM let the running case end, and keep the others from being run. The
/// second one of a kind kills.
void heed_interruptions();

/// The signal that came; 0: none.
int interruption() noexcept;

} // namespace irpverbs::conformance
