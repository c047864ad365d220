// Instances of Eigen's templates: eigenvalues of small matrices, and rotations.
#include "data/math/eigen_instances.h"

namespace Eigen {
IMPACTLAB_EIGEN_EIGENVALUES_OF_SMALL()
}  // namespace Eigen
