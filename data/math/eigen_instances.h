#pragma once
// Parts of Eigen that nearly every source uses, compiled once in eigen_instances_*.cc: the compiler
// instantiates them in no other source. A source need not include this header; the build puts it
// before every source (pipelines/install/precompile.cmake), where it changes neither names nor
// results. The list was made from the functions that take the compiler longest and stand in most
// objects. Functions that Eigen declares inline are instantiated in spite of `extern template`, so
// the products of dynamic matrices are declared as specialisations instead; their definitions call
// the general template.

#include <Eigen/Dense>

// Lists of instances; KIND is `extern` here and empty in the source that compiles the list. Neither
// it nor a size of a type may stand in parentheses there.

// NOLINTBEGIN(bugprone-macro-parentheses)

// Kernels of products and triangular solves of doubles.
#define IMPACTLAB_EIGEN_KERNELS(kind)                                                             \
  kind template struct general_matrix_vector_product<                                             \
      long, double, const_blas_data_mapper<double, long, RowMajor>, RowMajor, false, double,      \
      const_blas_data_mapper<double, long, ColMajor>, false, 0>;                                  \
  kind template struct general_matrix_vector_product<                                             \
      long, double, const_blas_data_mapper<double, long, RowMajor>, RowMajor, false, double,      \
      const_blas_data_mapper<double, long, RowMajor>, false, 1>;                                  \
  kind template struct general_matrix_vector_product<                                             \
      long, double, const_blas_data_mapper<double, long, ColMajor>, ColMajor, false, double,      \
      const_blas_data_mapper<double, long, RowMajor>, false, 0>;                                  \
  kind template struct general_matrix_vector_product<                                             \
      long, double, const_blas_data_mapper<double, long, ColMajor>, ColMajor, false, double,      \
      const_blas_data_mapper<double, long, ColMajor>, false, 0>;                                  \
  kind template struct general_matrix_matrix_product<long, double, ColMajor, false, double,       \
                                                     ColMajor, false, ColMajor, 1>;               \
  kind template struct general_matrix_matrix_product<long, double, RowMajor, false, double,       \
                                                     ColMajor, false, ColMajor, 1>;               \
  kind template struct general_matrix_matrix_product<long, double, ColMajor, false, double,       \
                                                     RowMajor, false, ColMajor, 1>;               \
  kind template struct general_matrix_matrix_product<long, double, RowMajor, false, double,       \
                                                     RowMajor, false, ColMajor, 1>;               \
  kind template struct gebp_kernel<double, double, long, blas_data_mapper<double, long, 0, 0, 1>, \
                                   4, 4, false, false>;                                           \
  kind template struct selfadjoint_matrix_vector_product<double, long, ColMajor, Lower, false,    \
                                                         false, 0>;                               \
  kind template struct triangular_solve_vector<double, double, long, OnTheLeft, Upper, false,     \
                                               ColMajor>;                                         \
  kind template struct triangular_solve_vector<double, double, long, OnTheLeft, Lower, false,     \
                                               ColMajor>;                                         \
  kind template struct triangular_solve_vector<double, double, long, OnTheLeft, UnitLower, false, \
                                               ColMajor>;                                         \
  kind template struct triangular_solve_vector<double, double, long, OnTheLeft, Upper, false,     \
                                               RowMajor>;                                         \
  kind template struct triangular_solve_vector<double, double, long, OnTheLeft, UnitUpper, false, \
                                               RowMajor>;

// Householder reflections of dynamic matrices.
#define IMPACTLAB_EIGEN_HOUSEHOLDER(kind)                                                      \
  kind template void make_block_householder_triangular_factor(                                 \
      Matrix<double, -1, -1, RowMajor>&, const Block<MatrixXd, -1, -1, false>&,                \
      const Block<const VectorXd, -1, 1, false>&);                                             \
  kind template void make_block_householder_triangular_factor(                                 \
      Matrix<double, -1, -1, RowMajor>&, const Block<MatrixXd, -1, -1, false>&,                \
      const VectorBlock<const VectorXd, -1>&);                                                 \
  kind template void apply_block_householder_on_the_left(                                      \
      Block<MatrixXd, -1, -1, false>&, const Block<MatrixXd, -1, -1, false>&,                  \
      const VectorBlock<const VectorXd, -1>&, bool);                                           \
  kind template void apply_block_householder_on_the_left(                                      \
      Block<VectorXd, -1, -1, false>&, const Block<MatrixXd, -1, -1, false>&,                  \
      const VectorBlock<const VectorXd, -1>&, bool);                                           \
  kind template void tridiagonalization_inplace(MatrixXd&, VectorXd&);                         \
  kind template ComputationInfo computeFromTridiagonal_impl(VectorXd&, VectorXd&, const Index, \
                                                            bool, MatrixXd&);

// Decompositions of dynamic matrices: the members of the classes, and the solutions for a vector, a
// matrix and the identity.
#define IMPACTLAB_EIGEN_ORTHOGONAL(kind)                                                           \
  kind template class ColPivHouseholderQR<MatrixXd>;                                               \
  kind template void ColPivHouseholderQR<MatrixXd>::_solve_impl(const VectorXd&, VectorXd&) const; \
  kind template void ColPivHouseholderQR<MatrixXd>::_solve_impl(const MatrixXd&, MatrixXd&) const; \
  kind template class HouseholderQR<MatrixXd>;                                                     \
  kind template class CompleteOrthogonalDecomposition<MatrixXd>;                                   \
  kind template void CompleteOrthogonalDecomposition<MatrixXd>::_solve_impl(const VectorXd&,       \
                                                                            VectorXd&) const;      \
  kind template class HouseholderSequence<MatrixXd, VectorXd, 1>;                                  \
  kind template void HouseholderSequence<MatrixXd, VectorXd, 1>::evalTo<MatrixXd, VectorXd>(       \
      MatrixXd&, VectorXd&) const;                                                                 \
  kind template class JacobiSVD<MatrixXd>;

#define IMPACTLAB_EIGEN_SYMMETRIC(kind)                                                        \
  kind template class PartialPivLU<MatrixXd>;                                                  \
  kind template class SelfAdjointEigenSolver<MatrixXd>;                                        \
  kind template SelfAdjointEigenSolver<MatrixXd>&                                              \
  SelfAdjointEigenSolver<MatrixXd>::compute<MatrixXd>(const EigenBase<MatrixXd>&, int);        \
  kind template class LDLT<MatrixXd>;                                                          \
  kind template LDLT<MatrixXd>& LDLT<MatrixXd>::compute<MatrixXd>(const EigenBase<MatrixXd>&); \
  kind template void LDLT<MatrixXd>::_solve_impl_transposed<true>(const VectorXd&, VectorXd&)  \
      const;                                                                                   \
  kind template void LDLT<MatrixXd>::_solve_impl_transposed<true>(const MatrixXd&, MatrixXd&)  \
      const;                                                                                   \
  kind template void LDLT<MatrixXd>::_solve_impl_transposed<true>(                             \
      const MatrixXd::IdentityReturnType&, MatrixXd&) const;                                   \
  kind template class LLT<MatrixXd>;                                                           \
  kind template LLT<MatrixXd>& LLT<MatrixXd>::compute<MatrixXd>(const EigenBase<MatrixXd>&);   \
  kind template void LLT<MatrixXd>::_solve_impl_transposed<true>(const VectorXd&, VectorXd&)   \
      const;                                                                                   \
  kind template void LLT<MatrixXd>::_solve_impl_transposed<true>(const MatrixXd&, MatrixXd&)   \
      const;                                                                                   \
  kind template void LLT<MatrixXd>::_solve_impl_transposed<true>(                              \
      const MatrixXd::IdentityReturnType&, MatrixXd&) const;

// Decompositions of n x n matrices, of the sizes that covariances have, and solutions for a vector.
#define IMPACTLAB_EIGEN_LDLT_OF(kind, n)                                         \
  kind template LDLT<Matrix<double, n, n>>& LDLT<Matrix<double, n, n>>::compute( \
      const EigenBase<Matrix<double, n, n>>&);                                   \
  kind template void LDLT<Matrix<double, n, n>>::_solve_impl_transposed<true>(   \
      const Matrix<double, n, 1>&, Matrix<double, n, 1>&) const;
#define IMPACTLAB_EIGEN_LLT_OF(kind, n)                                        \
  kind template LLT<Matrix<double, n, n>>& LLT<Matrix<double, n, n>>::compute( \
      const EigenBase<Matrix<double, n, n>>&);                                 \
  kind template void LLT<Matrix<double, n, n>>::_solve_impl_transposed<true>(  \
      const Matrix<double, n, 1>&, Matrix<double, n, 1>&) const;
#define IMPACTLAB_EIGEN_CHOLESKY_OF_SMALL(kind) \
  IMPACTLAB_EIGEN_LDLT_OF(kind, 2)              \
  IMPACTLAB_EIGEN_LDLT_OF(kind, 3)              \
  IMPACTLAB_EIGEN_LDLT_OF(kind, 6)              \
  IMPACTLAB_EIGEN_LLT_OF(kind, 2)               \
  IMPACTLAB_EIGEN_LLT_OF(kind, 3)

#define IMPACTLAB_EIGEN_EIGENVALUES_OF(kind, n)                                                 \
  kind template SelfAdjointEigenSolver<Matrix<double, n, n>>&                                   \
  SelfAdjointEigenSolver<Matrix<double, n, n>>::compute(const EigenBase<Matrix<double, n, n>>&, \
                                                        int);
#define IMPACTLAB_EIGEN_EIGENVALUES_OF_SMALL(kind)                                      \
  IMPACTLAB_EIGEN_EIGENVALUES_OF(kind, 2)                                               \
  IMPACTLAB_EIGEN_EIGENVALUES_OF(kind, 3)                                               \
  kind template Transform<double, 3, Isometry> Transform<double, 3, Isometry>::inverse( \
      TransformTraits) const;                                                           \
  kind template AngleAxisd::Matrix3 AngleAxisd::toRotationMatrix() const;

// Products of dynamic matrices, each written into a dynamic matrix: WHAT(left, right).
#define IMPACTLAB_EIGEN_PRODUCT_PAIRS(WHAT)               \
  WHAT(MatrixXd, MatrixXd)                                \
  WHAT(Transpose<const MatrixXd>, MatrixXd)               \
  WHAT(Transpose<MatrixXd>, MatrixXd)                     \
  WHAT(MatrixXd, Transpose<const MatrixXd>)               \
  WHAT(MatrixXd, Transpose<MatrixXd>)                     \
  WHAT(ProductOfTwo<>, Transpose<const MatrixXd>)         \
  WHAT(ProductOfTwo<>, MatrixXd)                          \
  WHAT(ProductOfTwo<>, Transpose<MatrixXd>)               \
  WHAT(ProductOfTwo<Transpose<const MatrixXd>>, MatrixXd) \
  WHAT(ProductOfTwo<Transpose<MatrixXd>>, MatrixXd)

namespace Eigen {
namespace internal {
template <class Left = MatrixXd, class Right = MatrixXd>
using ProductOfTwo = Product<Left, Right, DefaultProduct>;
template <class Left, class Right>
using DynamicProduct = generic_product_impl<Left, Right, DenseShape, DenseShape, GemmProduct>;
}  // namespace internal
}  // namespace Eigen

#define IMPACTLAB_EIGEN_PRODUCT_DECLARED(...) IMPACTLAB_EIGEN_PRODUCT_DECLARED_(__VA_ARGS__)
#define IMPACTLAB_EIGEN_PRODUCT_DECLARED_(L, R)                               \
  template <>                                                                 \
  template <>                                                                 \
  void DynamicProduct<L, R>::evalTo<MatrixXd>(MatrixXd&, const L&, const R&); \
  template <>                                                                 \
  template <>                                                                 \
  void DynamicProduct<L, R>::addTo<MatrixXd>(MatrixXd&, const L&, const R&);  \
  template <>                                                                 \
  template <>                                                                 \
  void DynamicProduct<L, R>::subTo<MatrixXd>(MatrixXd&, const L&, const R&);

// NOLINTEND(bugprone-macro-parentheses)

namespace Eigen {
namespace internal {
IMPACTLAB_EIGEN_KERNELS(extern)
IMPACTLAB_EIGEN_HOUSEHOLDER(extern)
IMPACTLAB_EIGEN_PRODUCT_PAIRS(IMPACTLAB_EIGEN_PRODUCT_DECLARED)
}  // namespace internal
IMPACTLAB_EIGEN_ORTHOGONAL(extern)
IMPACTLAB_EIGEN_SYMMETRIC(extern)
IMPACTLAB_EIGEN_CHOLESKY_OF_SMALL(extern)
IMPACTLAB_EIGEN_EIGENVALUES_OF_SMALL(extern)
}  // namespace Eigen
