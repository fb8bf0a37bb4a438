// One block of memory for an object, its channels and the driver's extension.
#pragma once

#include "object.hpp"

#include <new>

namespace irpverbs::ci {

inline constexpr ULONG object_tag = 0x6F696349; // "Icio"

template <class Object>
struct object_memory {
    /// Allocates zeroed memory and constructs the channels. `place` is null without memory.
    object_memory(unsigned channel_count, std::size_t extension_size) {
        const std::size_t channels_at = rounded(sizeof(Object));
        const std::size_t extension_at =
            rounded(channels_at + channel_count * sizeof(event_channel));
        auto* block = static_cast<char*>(
            ExAllocatePool2(POOL_FLAG_NON_PAGED, extension_at + extension_size, object_tag));
        if (block == nullptr) return;
        place = block;
        channels = reinterpret_cast<event_channel*>(block + channels_at);
        extension = block + extension_at;
        for (unsigned i = 0; i < channel_count; ++i)
            new (&channels[i]) event_channel{};
    }

    void* place = nullptr;
    event_channel* channels = nullptr;
    void* extension = nullptr;

private:
    static constexpr std::size_t rounded(std::size_t size) { return (size + 15) / 16 * 16; }
};

template <class Object>
void free_object(Object* object) {
    object->~Object();
    ExFreePoolWithTag(object, object_tag);
}

} // namespace irpverbs::ci
