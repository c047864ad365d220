#pragma once
#include "data/parallel.h"
