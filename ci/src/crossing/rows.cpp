#include "rows.hpp"

#include "padding.hpp"
#include "verbs/roles.hpp"

#include <cstring>
#include <type_traits>

namespace irpverbs::ci::crossing {

namespace {

using namespace roles;

enum object_block : object_type {
#define CI_OBJECT(object, block) block_##object = (block),
#define CI_VERB(...)
#include <ci/verbs.def>
};

// ---- pointers to objects in values

template <class Object>
constexpr object_type block_of() {
    if constexpr (std::is_same_v<Object, IB_CQ>)
        return block_cq;
    else if constexpr (std::is_same_v<Object, IB_PD>)
        return block_pd;
    else if constexpr (std::is_same_v<Object, IB_MR>)
        return block_mr;
    else if constexpr (std::is_same_v<Object, IB_AV>)
        return block_av;
    else if constexpr (std::is_same_v<Object, IB_QP>)
        return block_qp;
    else if constexpr (std::is_same_v<Object, IB_SRQ>)
        return block_srq;
    else if constexpr (std::is_same_v<Object, IB_XRCD>)
        return block_xrcd;
    else
        static_assert(!sizeof(Object), "the type of an object");
}

template <class Object>
bool to_handle(Object*& pointer, directory& names) {
    if (pointer == nullptr) return true;
    const std::uint64_t handle = names.handle_of(block_of<Object>(), pointer);
    pointer = static_cast<Object*>(pointer_of(handle));
    return handle != 0;
}

template <class Object>
bool to_object(Object*& pointer, directory& names) {
    if (pointer == nullptr) return true;
    const auto handle = reinterpret_cast<std::uintptr_t>(pointer);
    pointer = static_cast<Object*>(names.object_of(block_of<Object>(), handle));
    return pointer != nullptr;
}

// Calls `each` for all members of these names. False: one call returned false.
template <class Value, class Each>
bool for_objects(Value& value, const Each& each) {
    bool good = true;
    const auto visit = [&](auto& pointer) { good = each(pointer) && good; };
    if constexpr (requires { value.h_pd; }) visit(value.h_pd);
    if constexpr (requires { value.h_mr; }) visit(value.h_mr);
    if constexpr (requires { value.h_qp; }) visit(value.h_qp);
    if constexpr (requires { value.h_sq_cq; }) visit(value.h_sq_cq);
    if constexpr (requires { value.h_rq_cq; }) visit(value.h_rq_cq);
    if constexpr (requires { value.h_srq; }) visit(value.h_srq);
    if constexpr (requires { value.h_cq; }) visit(value.h_cq);
    if constexpr (requires { value.h_xrcd; }) visit(value.h_xrcd);
    return good;
}

template <class Value>
void remove_local(Value& value) {
    if constexpr (requires { value.dispatch; }) value.dispatch = {};
    if constexpr (requires { value.qp_context; }) value.qp_context = nullptr;
    if constexpr (requires { value.srq_context; }) value.srq_context = nullptr;
}

template <class Value>
bool value_to_handles(void* at, directory& names) {
    auto& value = *static_cast<Value*>(at);
    remove_local(value);
    return for_objects(value, [&](auto*& pointer) { return to_handle(pointer, names); });
}

template <class Value>
bool value_to_objects(void* at, directory& names) {
    auto& value = *static_cast<Value*>(at);
    remove_local(value);
    return for_objects(value, [&](auto*& pointer) { return to_object(pointer, names); });
}

template <class Value>
constexpr value_codec codec_of_value() {
    if constexpr (std::is_void_v<Value>) {
        return {};
    } else {
        static_assert(std::is_trivially_copyable_v<Value>);
        static_assert(sizeof(Value) <= sizeof(outgoing::value));
        return {sizeof(Value), value_to_handles<Value>, value_to_objects<Value>};
    }
}

// ---- objects

// The members that the HCA sets, or the whole structure of the client.
template <class Shared>
auto granted_by(Shared& shared) {
    if constexpr (std::is_same_v<Shared, HCA_CQ>)
        return &shared.Cq.NumCqes;
    else if constexpr (std::is_same_v<Shared, HCA_MAD_AGENT>)
        return &shared.Agent;
    else if constexpr (std::is_same_v<Shared, HCA_PD>)
        return &shared.Pd;
    else if constexpr (std::is_same_v<Shared, HCA_MR>)
        return &shared.Mr;
    else if constexpr (std::is_same_v<Shared, HCA_MW>)
        return &shared.Mw;
    else if constexpr (std::is_same_v<Shared, HCA_AV>)
        return &shared.Av;
    else if constexpr (std::is_same_v<Shared, HCA_SRQ>)
        return &shared.Srq;
    else if constexpr (std::is_same_v<Shared, HCA_MCAST>)
        return &shared.Mcast;
    else if constexpr (std::is_same_v<Shared, HCA_XRCD>)
        return &shared.Xrcd;
    else
        static_assert(!sizeof(Shared), "the members that the HCA sets");
}

template <class Shared>
struct granted {
    using part = std::remove_pointer_t<decltype(granted_by(std::declval<Shared&>()))>;

    static std::size_t write(const void* object, void* bytes) {
        std::memcpy(bytes, granted_by(shared_of(object)), sizeof(part));
        clear_gaps<part>(bytes, sizeof(part));
        return sizeof(part);
    }
    // Other clients of the object may read what did not change.
    static bool read(void* object, const void* bytes, std::size_t size) {
        if (size != sizeof(part)) return false;
        part* const to = granted_by(shared_of(object));
        if (std::memcmp(to, bytes, size) != 0) std::memcpy(to, bytes, size);
        return true;
    }

private:
    static Shared& shared_of(const void* object) {
        return *static_cast<Shared*>(const_cast<void*>(object));
    }
};

template <>
struct granted<HCA_CA> {
    static std::size_t write(const void*, void*) { return 0; }
    static bool read(void*, const void*, std::size_t size) { return size == 0; }
};

// A queue pair also has a state.
template <>
struct granted<HCA_QP> {
    struct part {
        IB_QP qp;
        ib_qp_state_t state;
    };
    static std::size_t write(const void* object, void* bytes) {
        const auto& shared = *static_cast<const HCA_QP*>(object);
        const part made{shared.Qp, HcaQpState(&shared)};
        static_assert(std::has_unique_object_representations_v<part>);
        std::memcpy(bytes, &made, sizeof(made));
        return sizeof(made);
    }
    static bool read(void* object, const void* bytes, std::size_t size) {
        part received;
        if (size != sizeof(received)) return false;
        std::memcpy(&received, bytes, size);
        auto& shared = *static_cast<HCA_QP*>(object);
        if (std::memcmp(&shared.Qp, &received.qp, sizeof(received.qp)) != 0)
            shared.Qp = received.qp;
        HcaSetQpState(&shared, received.state);
        return true;
    }
};

template <class Shared>
auto* parent_in(Shared& shared) {
    if constexpr (requires { shared.Ca.Dispatch; })
        return &shared;
    else if constexpr (requires { shared.Ca; })
        return shared.Ca;
    else if constexpr (requires { shared.Pd->Ca; })
        return shared.Pd;
    else
        return shared.Qp;
}

template <class Shared>
HCA_CA* ca_in(Shared& shared) {
    if constexpr (std::is_same_v<Shared, HCA_CA>)
        return &shared;
    else
        return ca_in(*parent_in(shared));
}

template <class Object>
constexpr object_codec codec_of_object() {
    using shared = typename Object::shared_type;
    object_codec made;
    made.export_granted = granted<shared>::write;
    made.import_granted = granted<shared>::read;
    made.ca = [](void* object) { return ca_in(*static_cast<shared*>(object)); };
    made.parent = [](void* object) -> void* { return parent_in(*static_cast<shared*>(object)); };
    made.extension = [](void* object) { return static_cast<shared*>(object)->Extension; };
    return made;
}

constexpr std::array<object_codec, 16> codecs = [] {
    std::array<object_codec, 16> made{};
#define CI_OBJECT(object, block) made[(block) >> 4] = codec_of_object<object##_object>();
#define CI_VERB(...)
#include <ci/verbs.def>
    return made;
}();

// ---- verbs

template <class Value, class Shared>
const void* attributes_of(const void* object) {
    const auto& shared = *static_cast<const Shared*>(object);
    if constexpr (std::is_same_v<Value, ib_phys_create_t>)
        return &shared.Physical;
    else if constexpr (std::is_same_v<Value, ib_smr_create_t>)
        return &shared.Sharing;
    else if constexpr (requires { shared.Create; })
        return &shared.Create;
    else if constexpr (requires { shared.Agent.Attr; })
        return &shared.Agent.Attr;
    else if constexpr (requires { shared.Av.Attr; })
        return &shared.Av.Attr;
    else if constexpr (requires { shared.Mcast.Gid; })
        return &shared.Mcast.Gid;
    else
        static_assert(!sizeof(Value), "the attributes of the creation");
}

template <class Shared>
constexpr object_type parent_type() {
    if constexpr (std::is_same_v<Shared, HCA_CA>)
        return 0;
    else if constexpr (requires(Shared & shared) { shared.Ca; })
        return block_ca;
    else if constexpr (requires(Shared & shared) { shared.Pd->Ca; })
        return block_pd;
    else
        return block_qp;
}

// The value of the roles, of which at most one has one.
template <class First = void, class... Rest>
struct value_of {
    using type = First;
};
template <class First, class Second, class... Rest>
struct value_of<First, Second, Rest...> {
    using type =
        typename value_of<std::conditional_t<std::is_void_v<First>, Second, First>, Rest...>::type;
};

// Attributes are followed by tables, which have no gaps; entries by more entries.
template <class Written>
void clear_gaps_in(void* block, std::size_t size) {
    clear_gaps<Written>(block, size);
    if constexpr (std::is_same_v<Written, IB_WC>)
        for (std::size_t at = sizeof(Written); at < size; at += sizeof(Written))
            clear_gaps<Written>(static_cast<std::byte*>(block) + at, size - at);
}

template <class Object, action Action, class... Roles>
constexpr row make_row(const char* name, UCHAR code) {
    using value = typename value_of<typename Roles::value...>::type;
    using written = typename value_of<typename Roles::written...>::type;
    using shared = typename Object::shared_type;
    row made;
    made.name = name;
    made.code = code;
    made.does = Action;
    made.parent = Action == action::creates ? parent_type<shared>() : object_type{0};
    made.crosses = (Roles::crosses && ...);
    if ((std::is_same_v<Roles, udata> || ...))
        made.user_data =
            (Roles::fills_buffer || ...) ? user_data_place::last_word : user_data_place::buffer;
    made.value = codec_of_value<value>();
    if constexpr (!std::is_void_v<written>) made.clear_gaps = clear_gaps_in<written>;
    if constexpr (Action == action::creates && !std::is_void_v<value>)
        made.attributes_in = attributes_of<value, shared>;
    return made;
}

constexpr row rows[] = {
    row{},
#define CI_OBJECT(object, block)
#define CI_VERB(NAME, Name, code, object, does, ...)                                               \
    make_row<object##_object, action::does, __VA_ARGS__>("Ci" #Name, code),
#include <ci/verbs.def>
};

} // namespace

const row& row_of(UCHAR code) { return rows[verb_row_of[code]]; }

const object_codec& codec_of(object_type type) { return codecs[type >> 4]; }

const traits* find(UCHAR code) {
    const row& found = row_of(code);
    return found.crosses ? &found : nullptr;
}

HCA_CA* ca_of(object_type type, void* object) { return codec_of(type).ca(object); }
void* parent_of(object_type type, void* object) { return codec_of(type).parent(object); }
void* extension_of(object_type type, void* object) { return codec_of(type).extension(object); }

} // namespace irpverbs::ci::crossing
