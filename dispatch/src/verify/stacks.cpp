// Call stacks as evidence. An unwinding takes microseconds, and a program under the verifier needs
// the same few stacks over and over. When the return addresses of a recorded stack still stand in
// their places, the present stack is that recorded one, and no unwinding is needed.
#include <dispatch/support/verify.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <unwind.h>

namespace irpverbs::dispatch::detail {
namespace {

constexpr std::uint32_t max_skipped = 8;

struct cached_stack {
    struct frame {
        void* address;
        void* const* place;
    };
    std::array<frame, call_stack::max_frames + max_skipped> frames{};
    std::uint32_t count = 0;
    std::uint32_t limit = 0; // number of frames that were requested

    // Compares from the innermost frame on: as long as the frames are the same, the next place
    // belongs to this stack. The sanitizers must ignore these reads of return addresses.
    __attribute__((no_sanitize("address"), no_sanitize("thread"))) bool
    matches(void* const* innermost, std::uint32_t wanted) const {
        if (limit < wanted || frames[0].place != innermost) return false;
        const frame* end = frames.data() + (count < wanted ? count : wanted);
        for (const frame* each = frames.data(); each != end; ++each)
            if (*each->place != each->address) return false;
        return true;
    }
};

// Sizes of frames, by the return address into them. A frame whose size varies (alloca) has no fixed
// places; the class detects that when it meets a second size.
class frame_sizes {
public:
    bool record_sizes(const cached_stack& found) {
        bool fixed = true;
        for (std::uint32_t i = 0; i + 1 < found.count; ++i) {
            const std::ptrdiff_t size = found.frames[i + 1].place - found.frames[i].place;
            std::ptrdiff_t& known = sizes_.try_emplace(found.frames[i].address, size).first->second;
            if (known != size) known = varies;
            fixed = fixed && known != varies;
        }
        return fixed;
    }

private:
    static constexpr std::ptrdiff_t varies = 0;
    std::unordered_map<const void*, std::ptrdiff_t> sizes_;
};

// The cached stacks of one thread. Stacks whose innermost return addresses have the same place and
// value share a few entries.
class stack_cache {
public:
    /// Null: the thread is ending.
    static stack_cache* of_this_thread() {
        struct owner {
            std::unique_ptr<stack_cache> held = std::make_unique<stack_cache>();
            ~owner() { over = true; }
        };
        static thread_local const owner own;
        return over ? nullptr : own.held.get();
    }

    const cached_stack& from(const cached_stack::frame& innermost, std::uint32_t wanted);

private:
    static constinit thread_local bool over;

    struct bucket {
        std::array<cached_stack, 4> kept;
        std::uint32_t next = 0;
    };
    std::array<bucket, 256> all_{};
    frame_sizes sizes_;
    cached_stack uncached_; // not kept
};
constinit thread_local bool stack_cache::over = false;

struct unwinding {
    cached_stack found;
    const void* innermost; // frames before this one belong to this file
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* held) {
    auto& [found, innermost] = *static_cast<unwinding*>(held);
    auto* const address = reinterpret_cast<void*>(_Unwind_GetIP(context));
    auto* const frame = reinterpret_cast<void* const*>(_Unwind_GetCFA(context));
    if (found.count == 0 && address != innermost) return _URC_NO_REASON;
    if (found.count == found.limit) return _URC_NORMAL_STOP;
    if (address == nullptr) return _URC_END_OF_STACK;
    found.frames[found.count++] = {address, frame - 1};
    return _URC_NO_REASON;
}

cached_stack unwound(const void* innermost, std::uint32_t wanted) {
    unwinding now{{}, innermost};
    now.found.limit = wanted;
    _Unwind_Backtrace(note_frame, &now);
    return now.found;
}

const cached_stack& stack_cache::from(const cached_stack::frame& innermost, std::uint32_t wanted) {
    const auto place = reinterpret_cast<std::uintptr_t>(innermost.place) / sizeof(void*);
    const auto address = reinterpret_cast<std::uintptr_t>(innermost.address);
    bucket& here = all_[(place + address * 31) * 0x9E3779B97F4A7C15 >> 56];
    for (const cached_stack& each : here.kept)
        if (each.matches(innermost.place, wanted)) return each;
    const cached_stack found = unwound(innermost.address, wanted);
    const bool lasting = sizes_.record_sizes(found);
    cached_stack& into = lasting ? here.kept[here.next++ % here.kept.size()] : uncached_;
    return into = found;
}

} // namespace

[[gnu::noinline]] call_stack capture_stack(std::uint32_t skip, std::uint32_t limit) {
    const cached_stack::frame innermost{__builtin_return_address(0),
                                        static_cast<void* const*>(__builtin_dwarf_cfa()) - 1};
    skip = std::clamp(skip, 1u, max_skipped) - 1; // this function's own frame is not among those
                                                  // skipped
    const std::uint32_t wanted = skip + std::min(limit, call_stack::max_frames);
    stack_cache* const remembered = stack_cache::of_this_thread();
    const cached_stack found = remembered != nullptr ? remembered->from(innermost, wanted)
                                                     : unwound(innermost.address, wanted);
    call_stack stack;
    if (found.count <= skip) return stack;
    stack.count = std::min(found.count, wanted) - skip;
    std::transform(found.frames.begin() + skip, found.frames.begin() + skip + stack.count,
                   stack.frames, [](const cached_stack::frame& each) { return each.address; });
    return stack;
}

} // namespace irpverbs::dispatch::detail
