#pragma once

#include "harness.hpp"
#include "verdict.hpp"

#include <iosfwd>
#include <vector>

namespace irpverbs::bench {

void print_tables(std::ostream& out, const std::vector<series>& results,
                  const std::vector<verdict>& verdicts);
void print_json(std::ostream& out, const std::vector<series>& results,
                const std::vector<verdict>& verdicts);

} // namespace irpverbs::bench
