#include <hca/hca.hpp>

#include <dispatch/status.hpp>

#include <utility>

namespace irpverbs::hca {

attachment::attachment(std::string uri) : uri_(std::move(uri)) {
    char message[256] = "";
    const NTSTATUS status = HcaAttachEx(uri_.c_str(), nullptr, message, sizeof(message));
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status, message);
}

attachment::~attachment() {
    if (!uri_.empty()) HcaDetach(uri_.c_str());
}

attachment::attachment(attachment&& other) noexcept : uri_(std::exchange(other.uri_, {})) {}

std::vector<ib_guid_t> guids() {
    std::vector<ib_guid_t> all(16);
    for (;;) {
        auto count = static_cast<ULONG>(all.size());
        const NTSTATUS status = HcaEnumerate(all.data(), &count);
        all.resize(count);
        if (status != STATUS_BUFFER_OVERFLOW) return all;
    }
}

std::string name(ib_guid_t guid) {
    std::string text(IB_NODE_DESCRIPTION_SIZE, '\0');
    for (;;) {
        const NTSTATUS status = HcaName(guid, text.data(), text.size());
        if (status == STATUS_BUFFER_OVERFLOW) {
            text.resize(2 * text.size());
            continue;
        }
        if (!NT_SUCCESS(status)) throw dispatch::status_error(status, "hca::name");
        text.resize(text.find('\0'));
        return text;
    }
}

} // namespace irpverbs::hca
