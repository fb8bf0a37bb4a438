#include "lab_options.hpp"

#include <cstdlib>

namespace shim {
namespace {

unsigned number_from(const char* variable, unsigned otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

} // namespace

lab_options lab_options::from_environment() {
    lab_options chosen;
    chosen.drop = number_from("LAB_DROP", 0);
    chosen.duplicate = number_from("LAB_DUPLICATE", 0);
    chosen.reorder = number_from("LAB_REORDER", 0);
    chosen.delay_ms = number_from("LAB_DELAY", 0);
    chosen.seed = number_from("LAB_SEED", 1);
    chosen.bounce = number_from("LAB_BOUNCE", 0) != 0;
    chosen.window = number_from("LAB_WINDOW", 64);
    chosen.resend_ms = number_from("LAB_RESEND", 2000);
    if (const char* file = std::getenv("LAB_RECEIVED"); file != nullptr) chosen.received = file;
    return chosen;
}

} // namespace shim
