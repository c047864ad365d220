#pragma once
#include "data/core_seconds.h"
