#pragma once
// Golden configurations of the two PSGD programs; the noise is the goldens' own generator.
#include "configure.hpp"

#include <quench/optim/psgd.hpp>
#include <quench/optim/psgd_white.hpp>

namespace golden {

inline q::psgd kron_of(keys h, lcg& noise, bool balance_always) {
  q::psgd r{.update_probability = 0, .balance_probability = balance_always ? 1.0 : 0.0, .noisy_step = true};
  r.noise.normal = [&noise] { return noise.gauss4(); };
  r.noise.uniform = [] { return 0.5; };
  h.into("lr", r.lr)
      .into("b1", r.beta1)
      .into("weight_decay", r.weight_decay)
      .into("precond_lr", r.precond_lr);
  h.into("preconditioner_update_probability", r.update_probability).into("precond_init_scale", r.init_scale);
  h.into("max_size_triangular", r.max_dim)
      .into("min_ndim_triangular", r.min_ndim)
      .into("momentum_into_precond_update", r.fit_momentum);
  const std::map<std::string, q::psgd_memory> modes{{"", q::psgd_memory::none},
                                                    {"one_diag", q::psgd_memory::one_diagonal},
                                                    {"smart_one_diag", q::psgd_memory::smart_one_diagonal},
                                                    {"all_diag", q::psgd_memory::all_diagonal}};
  r.memory = modes.at(h.text("memory_save_mode"));
  h.ignore({"precond_dtype", "mu_dtype"}).done();
  return r;
}

inline q::psgd_white kronwhiten_of(keys h, lcg& noise) {
  q::psgd_white r{.momentum = 0};
  r.noise.normal = [&noise] { return noise.gauss4(); };
  r.noise.uniform = [&noise] { return noise.unif(); };
  bool whiten_gradient = true;
  h.into("lr_params", r.lr)
      .into("lr_preconditioner", r.precond_lr)
      .into("preconditioner_init_scale", r.init_scale);
  h.into("momentum", r.momentum)
      .into("whiten_grad", whiten_gradient)
      .into("preconditioner_max_skew", r.max_skew);
  h.into("betaL", r.bound_decay).into("damping", r.damping).into("update_preconditioner_first", r.fit_first);
  h.into("preconditioner_update_probability", r.update_probability);
  if (h.has("grad_clip_max_amps"))
    r.max_rms = keys::number(h.raw("grad_clip_max_amps")[0]),
    r.max_entry = keys::number(h.raw("grad_clip_max_amps")[1]);
  const std::map<std::string, q::psgd_geometry> kinds{{"Q0.5EQ1.5", q::psgd_geometry::q0p5eq1p5},
                                                      {"Q0p5EQ1p5", q::psgd_geometry::q0p5eq1p5},
                                                      {"QEQ", q::psgd_geometry::qeq},
                                                      {"QUAD", q::psgd_geometry::quad},
                                                      {"QEP", q::psgd_geometry::qep},
                                                      {"EQ", q::psgd_geometry::eq},
                                                      {"PRO4P", q::psgd_geometry::pro4p},
                                                      {"QUAD4P", q::psgd_geometry::quad4p}};
  r.geometry = kinds.at(h.text("dQ", "Q0.5EQ1.5"));
  r.whiten_momentum = !whiten_gradient;
  h.done();
  return r;
}

}  // namespace golden
