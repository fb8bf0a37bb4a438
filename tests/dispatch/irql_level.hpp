#pragma once

#include <dispatch/support/processor.hpp>

namespace irpverbs::testing {

/// Sets the level without the checks of KeRaiseIrql and KeLowerIrql.
class at_level {
public:
    explicit at_level(KIRQL level) : before_(dispatch::detail::this_processor().irql) {
        dispatch::detail::this_processor().irql = level;
    }
    ~at_level() { dispatch::detail::this_processor().irql = before_; }
    at_level(const at_level&) = delete;
    at_level& operator=(const at_level&) = delete;

private:
    KIRQL before_;
};

} // namespace irpverbs::testing
