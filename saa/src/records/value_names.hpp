// Names of values. Source: IBA 14.2.5, 15.2.5; OpenSM for the rates.
#pragma once

#include <saa/records.hpp>

namespace irpverbs::saa::layout {

inline constexpr named_value node_types[]{{1, "CA"}, {2, "Switch"}, {3, "Router"}};
inline constexpr named_value port_states[]{
    {0, "NoChange"}, {1, "Down"}, {2, "Init"}, {3, "Armed"}, {4, "Active"}};
inline constexpr named_value physical_states[]{
    {1, "Sleep"},  {2, "Polling"},       {3, "Disabled"}, {4, "Training"},
    {5, "LinkUp"}, {6, "ErrorRecovery"}, {7, "PhyTest"}};
inline constexpr named_value mtus[]{{1, "256"}, {2, "512"}, {3, "1024"}, {4, "2048"}, {5, "4096"}};
inline constexpr named_value selectors[]{{0, "Greater"}, {1, "Less"}, {2, "Exactly"}, {3, "Best"}};
inline constexpr named_value sm_states[]{
    {0, "NotActive"}, {1, "Discovering"}, {2, "Standby"}, {3, "Master"}};
inline constexpr named_value notice_types[]{{0, "Fatal"},         {1, "Urgent"}, {2, "Security"},
                                            {3, "SubnetManager"}, {4, "Info"},   {0x7F, "Empty"}};
inline constexpr named_value rates[]{
    {2, "2.5Gb/s"},  {3, "10Gb/s"},   {4, "30Gb/s"},   {5, "5Gb/s"},    {6, "20Gb/s"},
    {7, "40Gb/s"},   {8, "60Gb/s"},   {9, "80Gb/s"},   {10, "120Gb/s"}, {11, "14Gb/s"},
    {12, "56Gb/s"},  {13, "112Gb/s"}, {14, "168Gb/s"}, {15, "25Gb/s"},  {16, "100Gb/s"},
    {17, "200Gb/s"}, {18, "300Gb/s"}, {19, "28Gb/s"},  {20, "50Gb/s"},  {21, "400Gb/s"},
    {22, "600Gb/s"}};

} // namespace irpverbs::saa::layout
