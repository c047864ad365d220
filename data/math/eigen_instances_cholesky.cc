// Instances of Eigen's templates: Cholesky decompositions of small matrices.
#include "data/math/eigen_instances.h"

namespace Eigen {
IMPACTLAB_EIGEN_CHOLESKY_OF_SMALL()
}  // namespace Eigen
