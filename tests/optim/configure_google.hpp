#pragma once
// Golden configurations of the PyTorch scalable_shampoo, its known defects included.
#include "configure.hpp"

#include <quench/optim/shampoo_google.hpp>

namespace golden {

inline q::shampoo_google google_of(keys h, lcg& noise) {
  q::shampoo_google r{.lr = 1, .matrix_eps = 1e-12, .root_steps = 1, .merge = true, .upstream = true};
  r.noise.uniform = [&noise] { return noise.unif(); };
  int graft = 1;
  h.into("lr", r.lr).into("momentum", r.momentum).into("beta2", r.beta2).into("diagonal_eps", r.diagonal_eps);
  h.into("matrix_eps", r.matrix_eps)
      .into("weight_decay", r.weight_decay)
      .into("inverse_exponent_override", r.exponent);
  h.into("start_preconditioning_step", r.start).into("preconditioning_compute_steps", r.root_steps);
  h.into("statistics_compute_steps", r.statistics_steps)
      .into("block_size", r.block)
      .into("best_effort_shape_interpretation", r.merge);
  h.into("graft_type", graft).into("nesterov", r.nesterov).done();
  if (graft == 2)
    r.graft = q::graft_kind::adagrad;
  else if (graft != 0 && graft != 1)
    unknown("graft_type " + std::to_string(graft));
  return r;
}

}  // namespace golden
