// Datagrams of arbitrary bytes to any destination of a fabric in any state. The first byte chooses
// whether the fabric is configured; then each step is an action, a length, and that many bytes. The
// fabric shuts down, and its clients receive whole datagrams only.
#include <dispatch/machine.hpp>
#include <dispatch/testing/choices.hpp>
#include <hca/software.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

using namespace irpverbs::dispatch;

constexpr unsigned max_steps = 32;
constexpr std::array<UCHAR, 5> classes{0x01, 0x81, 0x04, 0x05, 0x32};
constexpr std::array<ib_lid_t, 8> lids{1, 2, 3, 5, 0, IB_LID_PERMISSIVE, 0xC001, 0xBFFF};

void require(bool condition) {
    if (!condition) std::abort();
}

// Calls a verb of the software HCA, which completes inside the call.
template <class Verb>
ULONG_PTR call(const Verb& verb) {
    IRP* irp = IoAllocateIrp(1, FALSE);
    ULONG_PTR information = 0;
    const auto note = [](DEVICE_OBJECT*, IRP* done, void* context) {
        require(NT_SUCCESS(done->IoStatus.Status));
        *static_cast<ULONG_PTR*>(context) = done->IoStatus.Information;
        return STATUS_MORE_PROCESSING_REQUIRED;
    };
    IoSetCompletionRoutine(irp, note, &information, TRUE, TRUE, TRUE);
    require(verb(irp) != STATUS_PENDING);
    IoFreeIrp(irp);
    return information;
}

void ignore(IB_MAD_AGENT*, void*, const IB_MAD_RECEIVED* received) {
    require(received->Length == IB_MAD_SIZE);
}
constexpr IB_MAD_DISPATCH calls{ignore};

class world {
public:
    explicit world(bool configured) : uri_(configured ? "software:" : "software:?unmanaged") {
        ULONG count = 0;
        require(HcaAttach(uri_, &count) == STATUS_SUCCESS);
        count = static_cast<ULONG>(guids_.size());
        require(HcaEnumerate(guids_.data(), &count) == STATUS_SUCCESS);
        ca_ = reinterpret_cast<IB_CA*>(call([&](IRP* irp) {
            return CiOpenCa(HcaFromGuid(guids_[0]), nullptr, nullptr, nullptr, irp);
        }));
        for (std::size_t i = 0; i < classes.size(); ++i)
            agents_[i] = make_agent(classes[i]);
    }
    ~world() {
        for (IB_MAD_AGENT* each : agents_)
            call([&](IRP* irp) { return CiDeregisterMadAgent(each, irp); });
        call([&](IRP* irp) { return CiCloseCa(ca_, nullptr, irp); });
        require(HcaDetach(uri_) == STATUS_SUCCESS);
    }
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    void act(UCHAR what, std::span<const UCHAR> with) {
        const UCHAR choice = what >> 3;
        switch (what & 7) {
        case 0:
            HcaSoftwareFlapLink(guids_[choice % guids_.size()], 1);
            break;
        case 1:
            HcaSoftwareSetPortState(guids_[choice % guids_.size()], 1,
                                    static_cast<IB_PORT_STATE>(1 + choice % 4));
            break;
        case 2:
            pass_time(choice);
            break;
        default:
            send((what & 7) - 3u, lids[choice % lids.size()], with);
        }
    }
    void pass_time(unsigned milliseconds) {
        LARGE_INTEGER interval;
        interval.QuadPart = -10'000LL * (1 + milliseconds);
        KeDelayExecutionThread(KernelMode, FALSE, &interval);
    }

private:
    IB_MAD_AGENT* make_agent(UCHAR management_class) {
        IB_MAD_AGENT_ATTR attr{};
        attr.PortNumber = 1;
        attr.ManagementClass = management_class;
        attr.ClassVersion = 1;
        attr.MethodMask[0] = 1u << 3 | 1u << 5;
        return reinterpret_cast<IB_MAD_AGENT*>(
            call([&](IRP* irp) { return CiRegisterMadAgent(ca_, &attr, nullptr, &calls, irp); }));
    }
    void send(std::size_t agent, ib_lid_t lid, std::span<const UCHAR> bytes) {
        const UCHAR management_class = classes[agent];
        std::array<UCHAR, IB_MAD_SIZE> mad{1, management_class, 1};
        std::copy_n(bytes.begin(), std::min(bytes.size(), mad.size() - 2), mad.begin() + 2);
        IB_MAD_SEND sent{};
        sent.To.Lid = lid;
        sent.To.Qp = (management_class & 0x7F) != 1 ? 1 : 0;
        sent.To.QKey = IB_QP1_QKEY;
        sent.Data = mad.data();
        sent.Length = IB_MAD_SIZE;
        call([&](IRP* irp) { return CiSendMad(agents_[agent], &sent, irp); });
    }

    const char* uri_;
    std::array<ib_guid_t, 4> guids_{};
    IB_CA* ca_ = nullptr;
    std::array<IB_MAD_AGENT*, classes.size()> agents_{};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::span<const UCHAR> input(data, size);
    if (input.empty()) return 0;
    random_choices chance(1);
    sim_machine machine(chance);
    const machine::scope inside(machine);
    world there((input[0] & 1) != 0);
    input = input.subspan(1);
    for (unsigned step = 0; step < max_steps && input.size() >= 2; ++step) {
        const UCHAR what = input[0];
        const std::size_t length = std::min<std::size_t>(input[1], input.size() - 2);
        there.act(what, input.subspan(2, length));
        input = input.subspan(2 + length);
    }
    there.pass_time(1);
    return 0;
}
