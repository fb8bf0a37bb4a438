// N management transactions are outstanding; the oldest is answered, and the next one begins. None
// times out.
#pragma once

#include "harness.hpp"

#include <memory>
#include <string>

namespace irpverbs::bench {

inline constexpr std::uint32_t outstanding_ids = 1000;

// Engine has Engine(count), begin(index), respond(index), turn(), responses().
template <class Engine>
class transaction_load {
public:
    explicit transaction_load(std::size_t count) : engine_(count), count_(count) {
        for (std::size_t i = 0; i < count; ++i)
            engine_.begin(i);
        for (std::size_t i = 0; i < 2 * count; ++i)
            step(); // reaches the steady state, which is measured
    }
    void step() {
        next_ = next_ + 1 == count_ ? 0 : next_ + 1;
        engine_.respond(next_);
        engine_.turn();
        engine_.begin(next_);
    }
    std::uint64_t responses() const { return engine_.responses(); }

private:
    Engine engine_;
    std::size_t count_, next_ = 0;
};

template <class Engine>
void add_transaction_load(catalog& all, const std::string& owner) {
    struct kind {
        const char* name;
        std::size_t count;
    };
    for (const kind& each : {kind{"transaction_1e3", 1'000}, kind{"transaction_1e6", 1'000'000}}) {
        auto load = std::make_shared<std::unique_ptr<transaction_load<Engine>>>();
        all.add(owner + "/" + each.name, "one is answered and the next begins, of as many",
                [load, each](run& sample) {
                    if (!*load)
                        *load = std::make_unique<transaction_load<Engine>>(
                            sample.population(each.count));
                    transaction_load<Engine>& steady = **load;
                    const std::uint64_t operations = sample.operations();
                    const std::uint64_t before = steady.responses();
                    sample.start();
                    for (std::uint64_t i = 0; i < operations; ++i)
                        steady.step();
                    sample.stop();
                    expect(steady.responses() - before >= operations / 2, "responses arrive");
                });
    }
}

} // namespace irpverbs::bench
