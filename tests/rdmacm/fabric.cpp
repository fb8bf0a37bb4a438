// The fabric of the program: two hosts of the built-in one, and its subnet manager.
#include <drop_in/devices.hpp>
#include <samples/local_subnet_manager.hpp>

#include <cstdlib>

namespace {

// It runs until the process ends; leak checkers find it here.
[[gnu::used]] const samples::local_subnet_manager* running;

[[gnu::constructor]] void choose() {
    setenv("IRPVERBS_HCA", "software:?host=host1,host2", 1);
    irpverbs::drop_in::set_subnet_manager(
        [](const std::string& uri) { running = new samples::local_subnet_manager(uri); });
}

} // namespace

// The machine of the drop-in libraries is never destroyed, nor are the IRPs that it caches: they
// are linked through memory that AddressSanitizer knows as free.
extern "C" const char* __lsan_default_options();
extern "C" const char* __lsan_default_options() { return "use_poisoned=1"; }
