// Interruption of the suite by Ctrl-C.
#pragma once

namespace irpverbs::conformance {

/// Installs handlers: SIGINT and SIGTERM let the running case end, and skip all later ones. The
/// second signal of a kind kills the process.
void catch_interruptions();

/// The received signal; 0: none.
int interruption() noexcept;

} // namespace irpverbs::conformance
