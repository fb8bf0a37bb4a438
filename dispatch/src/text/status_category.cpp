#include <dispatch/status.hpp>

#include <array>
#include <cstdio>
#include <string>

namespace irpverbs::dispatch {
namespace {

namespace errc = boost::system::errc;

struct counterpart {
    NTSTATUS status;
    errc::errc_t condition;
};

// The conversion from a condition to a status takes the first row.
constexpr auto counterparts = std::to_array<counterpart>({
    {STATUS_CANCELLED, errc::operation_canceled},
    {STATUS_REQUEST_CANCELED, errc::operation_canceled},
    {STATUS_IO_TIMEOUT, errc::timed_out},
    {STATUS_INSUFFICIENT_RESOURCES, errc::not_enough_memory},
    {STATUS_NO_MEMORY, errc::not_enough_memory},
    {STATUS_INVALID_PARAMETER, errc::invalid_argument},
    {STATUS_INVALID_PARAMETER_1, errc::invalid_argument},
    {STATUS_INVALID_PARAMETER_2, errc::invalid_argument},
    {STATUS_INVALID_PARAMETER_3, errc::invalid_argument},
    {STATUS_INVALID_HANDLE, errc::bad_file_descriptor},
    {STATUS_ACCESS_DENIED, errc::permission_denied},
    {STATUS_NO_SUCH_DEVICE, errc::no_such_device},
    {STATUS_DEVICE_DOES_NOT_EXIST, errc::no_such_device},
    {STATUS_NO_SUCH_FILE, errc::no_such_file_or_directory},
    {STATUS_DEVICE_BUSY, errc::device_or_resource_busy},
    {STATUS_NOT_SUPPORTED, errc::not_supported},
    {STATUS_INVALID_DEVICE_REQUEST, errc::not_supported},
    {STATUS_NOT_IMPLEMENTED, errc::function_not_supported},
    {STATUS_BUFFER_TOO_SMALL, errc::no_buffer_space},
    {STATUS_IO_DEVICE_ERROR, errc::io_error},
    {STATUS_HOST_UNREACHABLE, errc::host_unreachable},
    {STATUS_DEVICE_NOT_CONNECTED, errc::not_connected},
    {STATUS_REQUEST_ABORTED, errc::connection_aborted},
    {STATUS_RETRY, errc::resource_unavailable_try_again},
});

// The base's destructor is neither virtual nor hidden, and no code deletes a category.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor)
class category final : public boost::system::error_category {
public:
    constexpr category() noexcept : error_category(0x4e545354'41545553) {}

    const char* name() const noexcept override { return "ntstatus"; }

    std::string message(int value) const override {
        if (const char* meaning = NtStatusMeaning(value)) return meaning;
        return unknown(value);
    }
    using error_category::message;

    bool failed(int value) const noexcept override { return !NT_SUCCESS(value); }

    boost::system::error_condition default_error_condition(int value) const noexcept override {
        for (const counterpart& each : counterparts)
            if (each.status == value) return errc::make_error_condition(each.condition);
        return {value, *this};
    }

private:
    static std::string unknown(int value) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "NTSTATUS 0x%08X", static_cast<unsigned>(value));
        return text.data();
    }
};
#pragma GCC diagnostic pop

constinit const category statuses{};

} // namespace

const boost::system::error_category& status_category() noexcept { return statuses; }

NTSTATUS status_of(const boost::system::error_code& error) noexcept {
    if (error.category() == statuses) return error.value();
    if (!error) return STATUS_SUCCESS;
    for (const counterpart& each : counterparts)
        if (error == errc::make_error_condition(each.condition)) return each.status;
    return STATUS_UNSUCCESSFUL;
}

} // namespace irpverbs::dispatch
