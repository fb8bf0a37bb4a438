#include "symbols.hpp"

#include <boost/core/demangle.hpp>

#include <cstdio>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <unordered_map>

#ifdef IRPVERBS_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#include <unistd.h>
#endif

namespace irpverbs::dispatch::detail {
namespace {

std::string place_in_module(void* address) {
    char text[32];
    Dl_info info{};
    if (dladdr(address, &info) == 0) {
        std::snprintf(text, sizeof text, "%p", address);
        return text;
    }
    if (info.dli_sname != nullptr) return boost::core::demangle(info.dli_sname);
    std::snprintf(
        text, sizeof text, "+0x%zx",
        static_cast<std::size_t>(static_cast<char*>(address) - static_cast<char*>(info.dli_fbase)));
    return std::string(info.dli_fname != nullptr ? info.dli_fname : "?") + text;
}

#ifdef IRPVERBS_HAVE_LIBDW
// libdw's standard search queries servers on the network, needs a second to load the libraries for
// that, and leaks memory in each thread.
int no_other_files(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                   GElf_Word, char**) {
    return -1;
}

// Opens the program's debug information when the first report is written.
Dwfl* open_symbols() {
    static constexpr Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, no_other_files, nullptr,
                                                 nullptr};
    Dwfl* symbols = dwfl_begin(&callbacks);
    if (symbols == nullptr) return nullptr;
    dwfl_report_begin(symbols);
    dwfl_linux_proc_report(symbols, getpid());
    dwfl_report_end(symbols, nullptr, nullptr);
    return symbols;
}

std::string source_line(Dwfl_Module* module, Dwarf_Addr address) {
    Dwfl_Line* line = dwfl_module_getsrc(module, address);
    int number = 0;
    const char* file = line == nullptr
                           ? nullptr
                           : dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
    if (file == nullptr) return {};
    return std::string(" at ") + file + ":" + std::to_string(number);
}

std::string look_up(void* address) {
    static Dwfl* const symbols = open_symbols();
    // A return address is behind its call, which may be the last instruction of its function.
    const Dwarf_Addr call = reinterpret_cast<Dwarf_Addr>(address) - 1;
    Dwfl_Module* module = symbols == nullptr ? nullptr : dwfl_addrmodule(symbols, call);
    const char* name = module == nullptr ? nullptr : dwfl_module_addrname(module, call);
    if (name == nullptr) return place_in_module(address);
    return boost::core::demangle(name) + source_line(module, call);
}
#else
std::string look_up(void* address) { return place_in_module(address); }
#endif

} // namespace

std::string describe_address(void* address) {
    static std::mutex lock;
    static std::unordered_map<void*, std::string> known;
    // The report of a fatal signal that came in here, under the lock.
    static thread_local bool inside = false;
    if (inside) return place_in_module(address);
    const std::lock_guard guard(lock);
    inside = true;
    const std::unique_ptr<bool, void (*)(bool*)> leave(&inside, [](bool* flag) { *flag = false; });
    std::string& text = known[address];
    if (text.empty()) text = look_up(address);
    return text;
}

} // namespace irpverbs::dispatch::detail
