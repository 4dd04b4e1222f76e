#pragma once
// Golden configurations of Meta's Distributed Shampoo (nested dictionaries of classes).
#include "configure.hpp"

#include <quench/optim/shampoo.hpp>

namespace golden {

inline void graft_of(keys h, q::shampoo& r) {
  const std::string kind = h.text("class");
  if (kind == "AdamPreconditionerConfig")
    r.graft = q::graft_kind::adam, r.graft_beta2 = 0.999;
  else if (kind == "RMSpropPreconditionerConfig")
    r.graft = q::graft_kind::rmsprop, r.graft_beta2 = 0.99;
  else if (kind == "AdaGradPreconditionerConfig")
    r.graft = q::graft_kind::adagrad;
  else if (kind == "SGDPreconditionerConfig")
    r.graft = q::graft_kind::sgd;
  else
    unknown("grafting " + kind);
  r.graft_eps = 1e-10;
  bool drop = false;
  h.into("epsilon", r.graft_eps)
      .into("beta2", r.graft_beta2)
      .into("drop_weighting_factor_on_gsquare", drop)
      .done();
  if (drop) unknown("drop_weighting_factor_on_gsquare of the graft");
}

inline void root_of(keys a, q::shampoo_factors& f) {
  const std::string kind = a.text("class");
  f.root.relative_epsilon = 0;
  if (kind == "CoupledNewtonConfig") {
    f.root.method = q::root_method::coupled_newton;
    a.into("max_iterations", f.root.max_iterations).into("tolerance", f.root.tolerance);
  } else if (kind == "CoupledHigherOrderConfig") {
    f.root.method = q::root_method::higher_order;
    f.root.epsilon = 0;
    a.into("rel_epsilon", f.root.relative_epsilon)
        .into("abs_epsilon", f.root.epsilon)
        .into("max_iterations", f.root.max_iterations);
    a.into("tolerance", f.root.tolerance);
    int order = 3;
    a.into("order", order).ignore({"disable_tf32"});
    if (order != 3) unknown("order " + std::to_string(order));
  } else if (kind == "EigenConfig" || kind == "EighEigendecompositionConfig" ||
             kind == "QREigendecompositionConfig") {
    keys stable = a.sub("rank_deficient_stability_config");
    const std::string how = stable.text("class", "PerturbationConfig");
    if (how == "PseudoInverseConfig")
      f.root.method = q::root_method::pseudo_inverse;
    else if (how != "PerturbationConfig")
      unknown(how);
    stable.into("perturb_before_computation", f.root.perturb_before)
        .ignore({"rank_rtol", "rank_atol"})
        .done();
    int iterations = 1;
    double tolerance = 0;
    a.into("max_iterations", iterations)
        .into("tolerance", tolerance)
        .ignore({"retry_double_precision", "eigendecomposition_offload_device"});
    if (iterations != 1 || tolerance != 0) unknown("QR iterations or tolerance");
  } else {
    unknown(kind);
  }
  a.done();
}

inline void exponents_of(const json& overrides, q::shampoo_factors& f) {
  for (const auto& [order, value] : overrides.items()) {
    const int d = std::stoi(order);
    if (d == 1)
      f.exponent_1d = value.is_object() ? value.value("0", -1.0) : value.get<double>();
    else if (d == 2 && value.is_object()) {
      f.exponent_rows = value.value("0", f.exponent_rows);
      f.exponent_cols = value.value("1", f.exponent_cols);
    } else if (d == 2) {
      f.exponent_rows = f.exponent_cols = value.get<double>();
    }
  }
}

/// A rule: Shampoo, or Muon for the spectral-descent configuration.
template <class T>
q::any_rule<T> shampoo_of(keys h) {
  q::shampoo r{.lr = 1e-2, .beta1 = 0.9, .beta2 = 1, .frequency = 1, .graft = q::graft_kind::none};
  keys p = h.sub("preconditioner_config");
  const std::string kind = p.text("class", "RootInvShampooPreconditionerConfig");
  h.into("lr", r.lr)
      .betas("betas", r.beta1, r.beta2)
      .into("beta3", r.beta3)
      .into("epsilon", r.factors.root.epsilon);
  h.into("weight_decay", r.weight_decay)
      .into("use_bias_correction", r.bias_correction)
      .into("precondition_frequency", r.frequency);
  h.into("start_preconditioning_step", r.start).into("max_preconditioner_dim", r.max_dim);
  const std::string decay = h.text("weight_decay_type", "WeightDecayType.DECOUPLED");
  if (decay == "WeightDecayType.L2")
    r.decay = q::decay_kind::coupled;
  else if (decay == "WeightDecayType.CORRECTED")
    r.decay = q::decay_kind::corrected;
  else if (decay == "WeightDecayType.INDEPENDENT")
    r.decay = q::decay_kind::independent;
  else if (decay != "WeightDecayType.DECOUPLED")
    unknown(decay);
  keys d = h.sub("distributed_config");
  int target = 1;
  d.into("target_parameter_dimensionality", target).ignore({"class"}).done();
  r.merge = target == 1;
  if (h.has("grafting_config")) graft_of(h.sub("grafting_config"), r);
  h.ignore({"grafting_config"});
  if (h.has("iterate_averaging_config")) {
    keys i = h.sub("iterate_averaging_config");
    const std::string how = i.text("class");
    if (how == "ClassicMomentumConfig") {
      i.into("momentum", r.classic_momentum)
          .into("dampening", r.dampening)
          .into("use_nesterov", r.nesterov)
          .done();
    } else if (how == "GeneralizedPrimalAveragingConfig") {
      double x = 0, y = 0;
      i.into("eval_interp_coeff", x).into("train_interp_coeff", y).done();
      // upstream keeps 1 - x y, 1 - x and 1 - lr decay in float32
      const float xf = float(x), yf = float(y);
      volatile float both = xf * yf, share = float(r.lr) * float(r.weight_decay);  // rounded, never fused
      r.eval_coefficient = 1 - double(1 - xf);
      r.train_coefficient = (1 - double(1 - both)) / r.eval_coefficient;
      r.weight_decay = (1 - double(1 - share)) / r.lr;
    } else {
      unknown(how);
    }
  }
  h.ignore({"iterate_averaging_config"});

  if (kind == "SpectralDescentPreconditionerConfig") {
    q::muon m{
        .lr = r.lr,
        .momentum = r.beta1,
        .weight_decay = r.weight_decay,
        .nesterov = false,
        .gain = q::polar_gain::none,
        .polar = {.method = q::polar_method::custom, .scaling = q::polar_scaling::maximum_eps, .eps = 1e-8}};
    keys o = p.sub("orthogonalization_config");
    o.ignore({"class", "scale_by_dims_fn"}).into("num_iterations", m.polar.steps);
    const json& c = o.raw("coefficients");
    m.polar.custom = {c[0], c[1], c[2]};
    o.done(), p.done(), h.done();
    return m;
  }
  if (kind == "EigenvalueCorrectedShampooPreconditionerConfig") {
    r.factors.form = p.sub("amortized_computation_config").text("class") == "QREigendecompositionConfig"
                         ? q::shampoo_form::eigenvalue_qr
                         : q::shampoo_form::eigenvalue;
    r.factors.eps = r.factors.root.epsilon;
  } else if (kind == "RootInvKLShampooPreconditionerConfig" ||
             kind == "EigendecomposedKLShampooPreconditionerConfig") {
    r.factors.kl = true;
  } else if (kind != "RootInvShampooPreconditionerConfig" &&
             kind != "EigendecomposedShampooPreconditionerConfig") {
    unknown(kind);
  }
  const double epsilon = r.factors.root.epsilon;
  root_of(p.sub("amortized_computation_config"), r.factors);
  if (r.factors.form != q::shampoo_form::root) r.factors.root.epsilon = epsilon;
  if (p.has("inverse_exponent_override")) exponents_of(p.raw("inverse_exponent_override"), r.factors);
  p.into("use_trace_scaling", r.factors.trace_scaling)
      .into("drop_weighting_factor_on_gsquare", r.factors.unweighted);
  p.ignore({"trace_scaling_exponent", "ignored_basis_change_dims", "factor_matrix_dtype",
            "inv_factor_matrix_dtype", "num_tolerated_failed_amortized_computations", "use_symmetric_packing",
            "factor_matrix_eigenvectors_dtype", "factor_matrix_eigenvalues_dtype",
            "corrected_eigenvalues_dtype", "inverse_exponent_override"})
      .done();
  h.done();
  return r;
}

}  // namespace golden
