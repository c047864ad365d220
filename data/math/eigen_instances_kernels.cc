// Instances of Eigen's templates: the kernels of products and the reflections.
#include "data/math/eigen_instances.h"

namespace Eigen {
namespace internal {
IMPACTLAB_EIGEN_KERNELS()
IMPACTLAB_EIGEN_HOUSEHOLDER()
}  // namespace internal
}  // namespace Eigen
