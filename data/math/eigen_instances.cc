#define IMPACTLAB_EIGEN_INSTANTIATE
#include "data/math/eigen_instances.h"

namespace Eigen {
namespace internal {
IMPACTLAB_EIGEN_INSTANCES()
}  // namespace internal
IMPACTLAB_EIGEN_CLASSES()
}  // namespace Eigen
