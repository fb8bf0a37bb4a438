#include "attachment.hpp"

#include "daemon_query.hpp"

#include <ci/support/seq_socket.hpp>

#include <algorithm>
#include <string_view>

namespace irpverbs::hca_user {

namespace {

/// The parts of a location.
struct place {
    std::string socket;
    std::string host;     // empty: all HCAs
    std::string provider; // empty: none
    bool checked = false; // see adapter::checks_memory
};

// Takes an option and its value off the end of the text.
std::string take_option(std::string& text, std::string_view mark) {
    const std::size_t at = text.rfind(mark);
    if (at == std::string::npos) return {};
    std::string value = text.substr(at + mark.size());
    text.resize(at);
    return value;
}

// Takes an option without a value off the end of the text, if it is there.
bool take_mark(std::string& text, std::string_view mark) {
    if (!text.ends_with(mark)) return false;
    text.resize(text.size() - mark.size());
    return true;
}

// "?static" is for programs that would run a subnet manager; the driver ignores it.
place parse(std::string text) {
    place made;
    made.checked = take_mark(text, "?checked");
    take_mark(text, "?static");
    made.checked = take_mark(text, "?checked") || made.checked;
    made.provider = take_option(text, "?provider=");
    made.host = take_option(text, "?host=");
    made.socket = text.empty() ? ci::detail::default_socket() : text;
    return made;
}

std::string names(const std::vector<ci::wire::hca>& all) {
    std::string text;
    for (const ci::wire::hca& each : all)
        text += (text.empty() ? "" : ", ") + std::string(each.name.data());
    return text;
}

// The daemon has no HCA, or none of that name. Returns the status.
NTSTATUS no_hca(const place& where, std::string& problem) {
    std::vector<ci::wire::hca> served;
    const NTSTATUS status = list_hcas(where.socket, {}, served, problem);
    if (!NT_SUCCESS(status)) return status;
    problem = where.socket + (served.empty() ? ": the daemon has no HCA"
                                             : ": the daemon has no HCA '" + where.host +
                                                   "': there is " + names(served));
    return STATUS_NO_SUCH_DEVICE;
}

NTSTATUS list(const place& where, std::vector<ci::wire::hca>& served, std::string& problem) {
    const NTSTATUS status = list_hcas(where.socket, where.host, served, problem);
    return NT_SUCCESS(status) && served.empty() ? no_hca(where, problem) : status;
}

} // namespace

NTSTATUS list_location(const std::string& location, std::vector<ci::wire::hca>& served,
                       std::string& problem) {
    return list(parse(location), served, problem);
}

std::unique_ptr<attachment> attachment::make(const std::string& location, NTSTATUS& status,
                                             std::string& problem) {
    const place where = parse(location);
    std::vector<ci::wire::hca> served;
    status = list(where, served, problem);
    if (!NT_SUCCESS(status)) return nullptr;
    auto made = std::make_unique<attachment>();
    for (const ci::wire::hca& each : served) {
        std::unique_ptr<provider_library> provider;
        if (!where.provider.empty()) {
            provider = provider_library::load(where.provider, each.guid, problem);
            status = STATUS_OBJECT_NAME_NOT_FOUND;
            if (provider == nullptr) return nullptr;
        }
        auto one =
            std::make_unique<adapter>(where.socket, each, std::move(provider), where.checked);
        if (status = one->start(problem); !NT_SUCCESS(status)) return nullptr;
        made->adapters_.push_back(std::move(one));
    }
    return made;
}

NTSTATUS attachment::refuse_opens() {
    const auto busy = std::ranges::find_if(
        adapters_, [](const auto& each) { return !NT_SUCCESS(HcaRefuseOpen(each->device())); });
    if (busy == adapters_.end()) return STATUS_SUCCESS;
    std::for_each(adapters_.begin(), busy, [](const auto& each) { HcaAllowOpen(each->device()); });
    return STATUS_DEVICE_BUSY;
}

} // namespace irpverbs::hca_user
