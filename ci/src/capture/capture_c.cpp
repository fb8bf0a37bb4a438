// The C interface of captures.
#include <ci/capture.h>
#include <ci/capture.hpp>

#include <new>

using irpverbs::ci::capture;

struct _CI_CAPTURE {
    _CI_CAPTURE(PFN_CI_CAPTURE_WRITE write, VOID* context)
        : packets([write, context](std::span<const std::byte> bytes) {
              write(bytes.data(), bytes.size(), context);
          }) {}

    capture packets;
};

extern "C" {

NTSTATUS CiBeginCapture(PFN_CI_CAPTURE_WRITE write, VOID* context, CI_CAPTURE** capture) {
    if (write == nullptr || capture == nullptr) return STATUS_INVALID_PARAMETER;
    try {
        *capture = new CI_CAPTURE(write, context);
    } catch (const std::bad_alloc&) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    return STATUS_SUCCESS;
}

NTSTATUS CiCaptureHca(CI_CAPTURE* capture, PDEVICE_OBJECT hca, const IB_CA_ATTR* attributes) {
    if (capture == nullptr || hca == nullptr || attributes == nullptr)
        return STATUS_INVALID_PARAMETER;
    try {
        return capture->packets.add(hca, *attributes);
    } catch (const std::bad_alloc&) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

SIZE_T CiEndCapture(CI_CAPTURE* capture) {
    if (capture == nullptr) return 0;
    capture->packets.end();
    const SIZE_T lost = capture->packets.lost();
    delete capture;
    return lost;
}

} // extern "C"
