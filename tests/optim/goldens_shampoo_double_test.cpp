// Golden trajectories of Shampoo, double, each case configured from its own hyper-parameters.
#include "runner.hpp"
#include "setup_matrix.hpp"

TEST_CASE("golden trajectories of Shampoo, double", "[goldens-optim]") {
  golden::run_all<double>(golden::family::shampoo, golden::configure_shampoo<double>);
}
