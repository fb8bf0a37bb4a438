// One run on real threads, with the verifier's findings as part of the verdict.
#pragma once

#include <functional>

namespace irpverbs::conformance {

/// Runs `body` as a visitor of a fresh asio_machine. What the verifier reports is a failure of the
/// running test. A bug check of the core on the body's thread ends the body; on another one, or in
/// its wake, there is no way on: it ends the program with status 1, after the report.
void real_run(const std::function<void()>& body);

} // namespace irpverbs::conformance
