#pragma once
/// \file  Small decoder-only transformers, everything.
#include <quench/nn/generate.hpp>
#include <quench/nn/peak.hpp>
#include <quench/nn/transformer.hpp>
