// -ffast-math removes the NaN checks and the exact rounding that every kernel here relies on.
// says: -ffast-math removes NaN checks
#ifdef REFUSED
#define __FAST_MATH__ 1
#endif
#include <quench/core/config.hpp>

int main() {}
