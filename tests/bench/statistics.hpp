#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace irpverbs::bench {

// The value below which `share` of the samples lie, with linear interpolation.
inline double quantile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const double place = share * static_cast<double>(values.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const auto high = std::min(low + 1, values.size() - 1);
    return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

} // namespace irpverbs::bench
