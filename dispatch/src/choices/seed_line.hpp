// The line that repeats a run which a seed determines.
#pragma once

#include <dispatch/testing/schedule.hpp>

namespace irpverbs::dispatch {

/// The strategy is random or pct. Allocates nothing.
std::string_view seed_line(const schedule_options& options, choices::line_buffer& into);

} // namespace irpverbs::dispatch
