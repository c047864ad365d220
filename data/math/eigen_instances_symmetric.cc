// Instances of Eigen's templates: decompositions of dynamic symmetric matrices.
#include "data/math/eigen_instances.h"

namespace Eigen {
IMPACTLAB_EIGEN_SYMMETRIC()
}  // namespace Eigen
