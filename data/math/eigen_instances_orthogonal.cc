// Instances of Eigen's templates: decompositions into orthogonal factors.
#include "data/math/eigen_instances.h"

namespace Eigen {
IMPACTLAB_EIGEN_ORTHOGONAL()
}  // namespace Eigen
