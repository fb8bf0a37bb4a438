// Mistakes with the buffers of user mode and with pool memory.
#include "strangers.hpp"

namespace strangers {
namespace {
namespace buffers {

constexpr ULONG buffered_code = control(0x900, METHOD_BUFFERED);
constexpr ULONG neither_code = control(0x901, METHOD_NEITHER);

inline ULONG output_length(PIRP irp) {
    return IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.OutputBufferLength;
}
inline ULONG input_length(PIRP irp) {
    return IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.InputBufferLength;
}

template <class Driver>
struct control_driver : plain_driver {
    static NTSTATUS device_control(PDEVICE_OBJECT device, PIRP irp) {
        return Driver::serve(extension_of<typename Driver::extension>(device), irp);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT) {
        driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = device_control;
    }
};

/// The length in a user's buffer is checked, and fetched once more for the copy.
template <bool Correct>
struct fetched_twice : control_driver<fetched_twice<Correct>> {
    static constexpr ULONG maximum = 16;
    struct message {
        volatile ULONG length;
        char text[64];
    };
    static NTSTATUS serve(plain_driver::extension*, PIRP irp) {
        const auto* from = static_cast<const message*>(
            IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.Type3InputBuffer);
        if (input_length(irp) < sizeof(message)) return complete(irp, STATUS_INVALID_PARAMETER);
        const ULONG length = from->length;
        if (length > maximum) return complete(irp, STATUS_INVALID_PARAMETER);
        auto* copy = static_cast<char*>(ExAllocatePoolWithTag(NonPagedPool, maximum, tag));
        if (copy == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        std::memcpy(copy, from->text, Correct ? length : from->length);
        ExFreePoolWithTag(copy, tag);
        return complete(irp, STATUS_SUCCESS);
    }
};

template <class Driver>
outcome changed_between(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    typename Driver::message sent{16, {}};
    here.actor("sender", [&] {
        request it;
        open.start_control_of(it, neither_code, &sent, sizeof sent);
        const NTSTATUS status = it.status();
        here.expect(status == STATUS_SUCCESS || status == STATUS_INVALID_PARAMETER,
                    "the message was not taken");
    });
    here.actor("attacker", [&] { sent.length = sizeof sent.text; });
    here.run();
    return here.finish();
}

/// 32 bytes are written to the output, whose length is not looked at.
template <bool Correct>
struct output_unchecked : control_driver<output_unchecked<Correct>> {
    static NTSTATUS serve(plain_driver::extension*, PIRP irp) {
        if (Correct && output_length(irp) < 32) return complete(irp, STATUS_BUFFER_TOO_SMALL);
        std::memset(system_buffer(irp), 'x', 32);
        return complete(irp, STATUS_SUCCESS, shorter(32, output_length(irp)));
    }
};

/// Information is the size of the whole reply, also where the buffer held a part.
template <bool Correct>
struct too_much_information : control_driver<too_much_information<Correct>> {
    static NTSTATUS serve(plain_driver::extension*, PIRP irp) {
        const ULONG length = shorter(32, output_length(irp));
        std::memset(system_buffer(irp), 'x', length);
        return complete(irp, STATUS_SUCCESS, Correct ? length : 32);
    }
};

/// Asks with a large and with a small buffer.
template <class Driver>
outcome large_and_small(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.actor("user", [&] {
        std::string text;
        here.expect(open.control(buffered_code, "", 32, &text) == STATUS_SUCCESS &&
                        text == std::string(32, 'x'),
                    "the large query failed");
        const NTSTATUS status = open.control(buffered_code, "", 4, &text);
        here.expect(status == STATUS_BUFFER_TOO_SMALL || text == "xxxx", "the small one is wrong");
    });
    here.run();
    return here.finish();
}

/// The reply is written over the request before that was read: both are one buffer.
template <bool Correct>
struct input_overwritten : control_driver<input_overwritten<Correct>> {
    struct reply {
        ULONG status;
        char text[4];
    };
    static NTSTATUS serve(plain_driver::extension*, PIRP irp) {
        if (input_length(irp) < 4 || output_length(irp) < sizeof(reply))
            return complete(irp, STATUS_INVALID_PARAMETER);
        auto* out = reinterpret_cast<reply*>(system_buffer(irp));
        std::array<char, 4> text{};
        if (Correct) std::memcpy(text.data(), system_buffer(irp), 4);
        out->status = 1;
        if (!Correct) std::memcpy(text.data(), system_buffer(irp), 4);
        std::memcpy(out->text, text.data(), 4);
        return complete(irp, STATUS_SUCCESS, sizeof(reply));
    }
};

template <class Driver>
outcome echo(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.actor("user", [&] {
        std::string text;
        here.expect(open.control(buffered_code, "ping", 8, &text) == STATUS_SUCCESS &&
                        text.substr(4) == "ping",
                    "the echo is wrong");
    });
    here.run();
    return here.finish();
}

/// The reply has 16 bytes, of which the driver sets four: the rest is what the memory held.
template <bool Correct>
struct reply_not_cleared : control_driver<reply_not_cleared<Correct>> {
    static NTSTATUS serve(plain_driver::extension*, PIRP irp) {
        if (output_length(irp) < 16) return complete(irp, STATUS_BUFFER_TOO_SMALL);
        if (Correct) std::memset(system_buffer(irp), 0, 16);
        std::memcpy(system_buffer(irp), "v1.0", 4);
        return complete(irp, STATUS_SUCCESS, 16);
    }
};

template <class Driver>
outcome version(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.actor("user", [&] {
        std::string text;
        here.expect(open.control(buffered_code, "", 16, &text) == STATUS_SUCCESS &&
                        text == "v1.0" + std::string(12, '\0'),
                    "the version is wrong");
    });
    here.run();
    return here.finish();
}

/// A DPC writes the time stamp of a request to its buffer, after the request was completed.
template <bool Correct>
struct buffer_used_later : control_driver<buffer_used_later<Correct>> {
    struct extension {
        KDPC dpc;
        PVOID buffer;
        irp_queue waiting;
    };
    static void stamp(PKDPC, PVOID context, PVOID, PVOID) {
        auto* own = static_cast<extension*>(context);
        if (!Correct) {
            std::memset(own->buffer, 't', 8);
            return;
        }
        while (const PIRP irp = own->waiting.next()) {
            std::memset(system_buffer(irp), 't', 8);
            complete(irp, STATUS_SUCCESS, 8);
        }
    }
    static NTSTATUS serve(extension* own, PIRP irp) {
        if (output_length(irp) < 8) return complete(irp, STATUS_BUFFER_TOO_SMALL);
        if (Correct) {
            own->waiting.insert(irp);
            KeInsertQueueDpc(&own->dpc, nullptr, nullptr);
            return STATUS_PENDING;
        }
        own->buffer = system_buffer(irp);
        KeInsertQueueDpc(&own->dpc, nullptr, nullptr);
        return complete(irp, STATUS_SUCCESS, 8);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        control_driver<buffer_used_later>::prepare(driver, device);
        own->waiting.prepare();
        KeInitializeDpc(&own->dpc, stamp, own);
        KeSetTargetProcessorDpc(&own->dpc, 1);
    }
    static void stop(PDEVICE_OBJECT) { KeFlushQueuedDpcs(); }
};

template <class Driver>
outcome stamped(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.actor("user", [&] {
        here.expect(open.control(buffered_code, "", 8) == STATUS_SUCCESS, "the query failed");
    });
    here.run();
    return here.finish();
}

/// The copy of a message is lost when the message is refused.
template <bool Correct>
struct leaked_on_error : control_driver<leaked_on_error<Correct>> {
    static NTSTATUS serve(plain_driver::extension*, PIRP irp) {
        const ULONG length = input_length(irp);
        auto* copy = static_cast<char*>(ExAllocatePoolWithTag(NonPagedPool, length + 1, tag));
        if (copy == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        std::memcpy(copy, system_buffer(irp), length);
        if (copy[0] != 'p') {
            if (Correct) ExFreePoolWithTag(copy, tag);
            return complete(irp, STATUS_INVALID_PARAMETER);
        }
        ExFreePoolWithTag(copy, tag);
        return complete(irp, STATUS_SUCCESS);
    }
};

template <class Driver>
outcome good_and_bad_message(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.actor("user", [&] {
        here.expect(open.control(buffered_code, "ping") == STATUS_SUCCESS, "it was refused");
        here.expect(open.control(buffered_code, "quit") == STATUS_INVALID_PARAMETER,
                    "it was not refused");
    });
    here.run();
    return here.finish();
}

/// The blocks of a lookaside list are freed to the pool.
template <bool Correct>
struct lookaside_to_pool : control_driver<lookaside_to_pool<Correct>> {
    struct extension {
        NPAGED_LOOKASIDE_LIST blocks;
    };
    static NTSTATUS serve(extension* own, PIRP irp) {
        PVOID block = ExAllocateFromNPagedLookasideList(&own->blocks);
        if (block == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        const bool good = system_buffer(irp)[0] == 'p';
        if (Correct || good)
            ExFreeToNPagedLookasideList(&own->blocks, block);
        else
            ExFreePool(block);
        return complete(irp, good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        control_driver<lookaside_to_pool>::prepare(driver, device);
        ExInitializeNPagedLookasideList(&extension_of<extension>(device)->blocks, nullptr, nullptr,
                                        0, 64, tag, 0);
    }
    static void stop(PDEVICE_OBJECT device) {
        ExDeleteNPagedLookasideList(&extension_of<extension>(device)->blocks);
    }
};

/// The size of a table is computed in 32 bits, and the number of its rows is the user's.
template <bool Correct>
struct size_overflow : control_driver<size_overflow<Correct>> {
    struct row {
        ULONG values[4];
    };
    static NTSTATUS serve(plain_driver::extension*, PIRP irp) {
        ULONG rows = 0;
        if (input_length(irp) < sizeof rows) return complete(irp, STATUS_INVALID_PARAMETER);
        std::memcpy(&rows, system_buffer(irp), sizeof rows);
        if (rows == 0 || (Correct && rows > 0x1000)) return complete(irp, STATUS_INVALID_PARAMETER);
        const ULONG size = rows * static_cast<ULONG>(sizeof(row));
        auto* table = static_cast<row*>(ExAllocatePoolWithTag(NonPagedPool, size, tag));
        if (table == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        for (ULONG i = 0; i < shorter(rows, 2); ++i) // the first rows have defaults
            std::memset(table[i].values, 0, sizeof(row));
        ExFreePoolWithTag(table, tag);
        return complete(irp, STATUS_SUCCESS);
    }
};

template <class Driver>
outcome tables(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.actor("user", [&] {
        here.expect(open.control(buffered_code, {"\2\0\0\0", 4}) == STATUS_SUCCESS, "refused");
        open.control(buffered_code, {"\1\0\0\x10", 4}); // 0x10000001 rows
    });
    here.run();
    return here.finish();
}

/// Two requests may free the same last reply.
template <bool Correct>
struct reply_freed_twice : control_driver<reply_freed_twice<Correct>> {
    struct extension {
        PVOID reply;
    };
    static NTSTATUS serve(extension* own, PIRP irp) {
        PVOID reply = ExAllocatePoolWithTag(NonPagedPool, 16, tag);
        if (reply == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        // The last reply is kept.
        PVOID last = Correct ? InterlockedExchangePointer(&own->reply, reply) : own->reply;
        if (last != nullptr) ExFreePoolWithTag(last, tag);
        if (!Correct) InterlockedExchangePointer(&own->reply, reply);
        return complete(irp, STATUS_SUCCESS);
    }
    static void stop(PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        if (own->reply != nullptr) ExFreePoolWithTag(own->reply, tag);
    }
};

template <class Driver>
outcome two_users(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.expect(open.control(buffered_code) == STATUS_SUCCESS, "the query failed");
    for (const char* name : {"first", "second"})
        here.actor(name, [&] {
            here.expect(open.control(buffered_code) == STATUS_SUCCESS, "the query failed");
        });
    here.run();
    return here.finish();
}

} // namespace buffers
} // namespace

const std::vector<defect>& buffer_defects() {
    using namespace buffers;
    static const std::vector<defect> all{
        {"LengthFetchedTwice", changed_between<fetched_twice<false>>,
         changed_between<fetched_twice<true>>},
        {"OutputLengthUnchecked", large_and_small<output_unchecked<false>>,
         large_and_small<output_unchecked<true>>},
        {"TooMuchInformation", large_and_small<too_much_information<false>>,
         large_and_small<too_much_information<true>>},
        {"InputOverwritten", echo<input_overwritten<false>>, echo<input_overwritten<true>>},
        {"ReplyNotCleared", version<reply_not_cleared<false>>, version<reply_not_cleared<true>>},
        {"BufferUsedAfterCompletion", stamped<buffer_used_later<false>>,
         stamped<buffer_used_later<true>>},
        {"PoolLeakedOnError", good_and_bad_message<leaked_on_error<false>>,
         good_and_bad_message<leaked_on_error<true>>},
        {"LookasideBlockToPool", good_and_bad_message<lookaside_to_pool<false>>,
         good_and_bad_message<lookaside_to_pool<true>>, false},
        {"SizeOverflow", tables<size_overflow<false>>, tables<size_overflow<true>>},
        {"ReplyFreedTwice", two_users<reply_freed_twice<false>>,
         two_users<reply_freed_twice<true>>},
    };
    return all;
}

} // namespace strangers
