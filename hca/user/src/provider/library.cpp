#include "library.hpp"

#include <boost/endian/conversion.hpp>

#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
#include <vector>

namespace irpverbs::hca_user {

namespace {

// A name is a word: it can't lead out of a folder.
bool is_word(const std::string& name) {
    return !name.empty() &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

std::vector<std::string> folders() {
    std::vector<std::string> made;
    const char* const set = secure_getenv("IRPVERBS_UVP_PATH");
    std::string rest = set != nullptr ? set : "";
    while (!rest.empty()) {
        const std::size_t end = rest.find(':');
        if (const std::string each = rest.substr(0, end); each.starts_with('/'))
            made.push_back(each);
        rest = end == std::string::npos ? "" : rest.substr(end + 1);
    }
    made.emplace_back(IRPVERBS_UVP_FOLDER);
    return made;
}

std::string joined(const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& each : all)
        text += (text.empty() ? "" : ", ") + each;
    return text;
}

// Nothing behind the last function of its version is the provider's.
void cut_to_version(uvp_interface_t& functions) {
    if (functions.version >= UVP_VERSION_2) return;
    constexpr std::size_t known = offsetof(uvp_interface_t, pre_create_srq);
    std::memset(reinterpret_cast<std::byte*>(&functions) + known, 0, sizeof(functions) - known);
}

} // namespace

std::unique_ptr<provider_library> provider_library::load(const std::string& name, ib_guid_t of,
                                                         std::string& problem) {
    if (!is_word(name)) {
        problem = "the name of a provider has lower-case letters, digits, - and _ only";
        return nullptr;
    }
    const std::string file = "irpverbs-uvp-" + name + ".so";
    const std::vector<std::string> all = folders();
    for (const std::string& folder : all) {
        const std::string path = folder + "/" + file;
        if (access(path.c_str(), F_OK) != 0) continue;
        void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            problem = dlerror();
            return nullptr;
        }
        std::unique_ptr<provider_library> made(new provider_library(handle));
        return made->ask(of, path, problem) ? std::move(made) : nullptr;
    }
    problem = "no " + file + " in " + joined(all);
    return nullptr;
}

provider_library::~provider_library() { dlclose(handle_); }

bool provider_library::ask(ib_guid_t of, const std::string& file, std::string& problem) {
    using get_interface = decltype(&uvp_get_interface);
    const auto get = reinterpret_cast<get_interface>(dlsym(handle_, "uvp_get_interface"));
    if (get == nullptr) {
        problem = file + " has no uvp_get_interface";
        return false;
    }
    functions_.guid = boost::endian::native_to_big(of);
    functions_.version = UVP_VERSION_2;
    const ib_api_status_t status = get(&functions_);
    if (status != IB_SUCCESS) {
        problem = file + " does not serve this HCA: " + NtStatusMeaning(status_of(status));
        return false;
    }
    if (functions_.version < UVP_VERSION_1 || functions_.version > UVP_VERSION_2) {
        problem = file + " has version " + std::to_string(functions_.version) +
                  " of the interface; 1 and " + std::to_string(UVP_VERSION_2) + " are known";
        return false;
    }
    cut_to_version(functions_);
    return true;
}

} // namespace irpverbs::hca_user
