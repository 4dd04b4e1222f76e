// Golden trajectories of Shampoo, float, each case configured from its own hyper-parameters.
#include "runner.hpp"
#include "setup_matrix.hpp"

TEST_CASE("golden trajectories of Shampoo, float", "[goldens-optim]") {
  golden::run_all<float>(golden::family::shampoo, golden::configure_shampoo<float>);
}
