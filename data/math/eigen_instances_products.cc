// Instances of Eigen's templates: products of dynamic matrices.
#include "data/math/eigen_instances.h"

namespace Eigen {
namespace internal {

// `const L` names the general template, which computes the same.
#define IMPACTLAB_EIGEN_PRODUCT_DEFINED(...) IMPACTLAB_EIGEN_PRODUCT_DEFINED_(__VA_ARGS__)
#define IMPACTLAB_EIGEN_PRODUCT_DEFINED_(L, R)                                                 \
  template <>                                                                                  \
  template <>                                                                                  \
  void DynamicProduct<L, R>::evalTo<MatrixXd>(MatrixXd & out, const L& left, const R& right) { \
    DynamicProduct<const L, R>::evalTo(out, left, right);                                      \
  }                                                                                            \
  template <>                                                                                  \
  template <>                                                                                  \
  void DynamicProduct<L, R>::addTo<MatrixXd>(MatrixXd & out, const L& left, const R& right) {  \
    DynamicProduct<const L, R>::addTo(out, left, right);                                       \
  }                                                                                            \
  template <>                                                                                  \
  template <>                                                                                  \
  void DynamicProduct<L, R>::subTo<MatrixXd>(MatrixXd & out, const L& left, const R& right) {  \
    DynamicProduct<const L, R>::subTo(out, left, right);                                       \
  }

IMPACTLAB_EIGEN_PRODUCT_PAIRS(IMPACTLAB_EIGEN_PRODUCT_DEFINED)

}  // namespace internal
}  // namespace Eigen
