// The walks and links that splay trees and AVL trees have in common. A node whose parent is itself
// is above all others.
#pragma once

namespace irpverbs::windows {

template <class Links>
Links* first_below(Links* node) {
    while (node != nullptr && node->LeftChild != nullptr)
        node = node->LeftChild;
    return node;
}

template <class Links>
Links* last_below(Links* node) {
    while (node != nullptr && node->RightChild != nullptr)
        node = node->RightChild;
    return node;
}

template <class Links>
Links* following(Links* node) {
    if (node->RightChild != nullptr) return first_below(node->RightChild);
    while (node->Parent != node && node->Parent->RightChild == node)
        node = node->Parent;
    return node->Parent == node ? nullptr : node->Parent;
}

template <class Links>
Links* preceding(Links* node) {
    if (node->LeftChild != nullptr) return last_below(node->LeftChild);
    while (node->Parent != node && node->Parent->LeftChild == node)
        node = node->Parent;
    return node->Parent == node ? nullptr : node->Parent;
}

/// The place of `node` below its parent.
template <class Links>
Links*& place_of(Links* node) {
    return node->Parent->LeftChild == node ? node->Parent->LeftChild : node->Parent->RightChild;
}

/// Puts `node`, which may be null, where `before` is below its parent.
template <class Links>
void replace(Links* before, Links* node) {
    place_of(before) = node;
    if (node != nullptr) node->Parent = before->Parent;
}

/// Descends from `root` by the table's compare routine. `node` is the one found, or the parent of a
/// new one, or null in an empty tree.
template <class Table, class Links, class DataOf>
TABLE_SEARCH_RESULT search(Table* table, void* wanted, Links* root, DataOf data_of, Links*& node) {
    node = nullptr;
    TABLE_SEARCH_RESULT result = TableEmptyTree;
    while (root != nullptr) {
        node = root;
        switch (table->CompareRoutine(table, wanted, data_of(root))) {
        case GenericLessThan:
            result = TableInsertAsLeft;
            root = root->LeftChild;
            break;
        case GenericGreaterThan:
            result = TableInsertAsRight;
            root = root->RightChild;
            break;
        default:
            return TableFoundNode;
        }
    }
    return result;
}

/// Inserts a new node below `parent`, at the place that its search found.
template <class Links>
void insert_below(Links* parent, Links* node, TABLE_SEARCH_RESULT where) {
    node->LeftChild = node->RightChild = nullptr;
    node->Parent = parent;
    (where == TableInsertAsLeft ? parent->LeftChild : parent->RightChild) = node;
}

} // namespace irpverbs::windows
