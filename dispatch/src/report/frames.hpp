// Call stacks as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace irpverbs::dispatch::detail {

/// One frame a line, the innermost first, without those that the verifier and the simulator add at
/// either end; empty if there are no others.
std::string describe_frames(std::span<void* const> frames);

/// As describe_frames, but all frames if there are no others.
std::string describe_frames_or_all(std::span<void* const> frames);

} // namespace irpverbs::dispatch::detail
