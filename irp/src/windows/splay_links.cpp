#include "standard.hpp"

#include <windows/wdk/rtl.h>

#include "tree_links.hpp"

using namespace irpverbs::windows;

namespace {

void rotate_up(RTL_SPLAY_LINKS* node) {
    RTL_SPLAY_LINKS* const above = node->Parent;
    const bool left = RtlIsLeftChild(node);
    RTL_SPLAY_LINKS*& inner = left ? node->RightChild : node->LeftChild;
    if (RtlIsRoot(above))
        node->Parent = node;
    else
        replace(above, node);
    (left ? above->LeftChild : above->RightChild) = inner;
    if (inner != nullptr) inner->Parent = above;
    inner = above;
    above->Parent = node;
}

/* Unlinks a node that has at most one child. */
void unlink(RTL_SPLAY_LINKS* node, RTL_SPLAY_LINKS*& root) {
    RTL_SPLAY_LINKS* const child = node->LeftChild != nullptr ? node->LeftChild : node->RightChild;
    if (!RtlIsRoot(node)) return replace(node, child);
    root = child;
    if (child != nullptr) child->Parent = child;
}

} // namespace

extern "C" {

PRTL_SPLAY_LINKS RtlSplay(PRTL_SPLAY_LINKS Links) noexcept {
    while (!RtlIsRoot(Links)) {
        RTL_SPLAY_LINKS* const above = Links->Parent;
        if (!RtlIsRoot(above))
            rotate_up(RtlIsLeftChild(above) == RtlIsLeftChild(Links) ? above : Links);
        rotate_up(Links);
    }
    return Links;
}

void RtlDeleteNoSplay(PRTL_SPLAY_LINKS Links, PRTL_SPLAY_LINKS* Root) noexcept {
    if (Links->LeftChild == nullptr || Links->RightChild == nullptr) return unlink(Links, *Root);
    RTL_SPLAY_LINKS* const other = RtlSubtreePredecessor(Links);
    unlink(other, *Root);
    other->LeftChild = Links->LeftChild;
    other->RightChild = Links->RightChild;
    if (other->LeftChild != nullptr) other->LeftChild->Parent = other;
    other->RightChild->Parent = other;
    if (!RtlIsRoot(Links)) return replace(Links, other);
    other->Parent = other;
    *Root = other;
}

PRTL_SPLAY_LINKS RtlDelete(PRTL_SPLAY_LINKS Links) noexcept {
    RTL_SPLAY_LINKS* const above = RtlIsRoot(Links) ? nullptr : Links->Parent;
    RTL_SPLAY_LINKS* root = nullptr;
    RtlDeleteNoSplay(Links, &root);
    return above != nullptr ? RtlSplay(above) : root;
}

PRTL_SPLAY_LINKS RtlSubtreeSuccessor(PRTL_SPLAY_LINKS Links) noexcept {
    return first_below(Links->RightChild);
}
PRTL_SPLAY_LINKS RtlSubtreePredecessor(PRTL_SPLAY_LINKS Links) noexcept {
    return last_below(Links->LeftChild);
}
PRTL_SPLAY_LINKS RtlRealSuccessor(PRTL_SPLAY_LINKS Links) noexcept { return following(Links); }
PRTL_SPLAY_LINKS RtlRealPredecessor(PRTL_SPLAY_LINKS Links) noexcept { return preceding(Links); }

} // extern "C"
