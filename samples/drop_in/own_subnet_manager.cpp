// The subnet manager of a fabric inside a program that knows nothing of it.
#include <local_subnet_manager.hpp>

#include <drop_in/devices.hpp>

namespace {

// It runs until the process ends, as the HCAs stay attached; leak checkers find it here.
[[gnu::used]] const samples::local_subnet_manager* running;

void start(const std::string& uri) { running = new samples::local_subnet_manager(uri); }

__attribute__((constructor)) void choose() { irpverbs::drop_in::set_subnet_manager(start); }

} // namespace
