#pragma once
// Counts what operator new hands out in this program; defined in allocations_test.cpp.
namespace allocations {
extern long count;
}
