// The subnet manager of a fabric inside a program that knows nothing of it.
#include <local_subnet_manager.hpp>

#include <drop_in/devices.hpp>

namespace {

// It runs until the process ends, as the HCAs stay attached.
void start(const std::string& uri) { static_cast<void>(new samples::local_subnet_manager(uri)); }

__attribute__((constructor)) void choose() { irpverbs::drop_in::set_subnet_manager(start); }

} // namespace
