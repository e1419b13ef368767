// All that CUDA has built in, without an include.
#pragma once

#include "vector_types.hpp"
//
#include "trap.hpp"
//
#include "fibers.hpp"
#include "warps.hpp"
//
#include "qualifiers.hpp"
