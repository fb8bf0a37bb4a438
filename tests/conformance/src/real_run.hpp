// One run on real threads; the verifier's findings are part of the result.
#pragma once

#include <functional>

namespace irpverbs::conformance {

/// Runs `body` as an attached thread of a new asio_machine. A report of the verifier is a failure
/// of the running test. A bug check of the core on the body's thread ends the body. A bug check on
/// another thread, or during the unwinding of the first, ends the program with status 1, after the
/// report.
void real_run(const std::function<void()>& body);

} // namespace irpverbs::conformance
