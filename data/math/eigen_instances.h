#pragma once
// Parts of Eigen that nearly every source uses, compiled once in eigen_instances.cc: the compiler
// instantiates a template that is declared extern in no other source. A source need not include
// this header; the build puts it before every source (pipelines/install/precompile.cmake), where it
// changes neither names nor results. The list was made from the largest functions that stood in
// most objects.

#include <Eigen/Dense>

#define IMPACTLAB_EIGEN_INSTANCES(kind) \
  IMPACTLAB_EIGEN_PRODUCTS(kind)        \
  IMPACTLAB_EIGEN_HOUSEHOLDER(kind)     \
  IMPACTLAB_EIGEN_DECOMPOSITIONS(kind)

// Kernels of products and triangular solves of doubles.
#define IMPACTLAB_EIGEN_PRODUCTS(kind)                                                            \
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
#define IMPACTLAB_EIGEN_HOUSEHOLDER(kind)                                       \
  kind template void make_block_householder_triangular_factor(                  \
      Matrix<double, -1, -1, RowMajor>&, const Block<MatrixXd, -1, -1, false>&, \
      const Block<const VectorXd, -1, 1, false>&);                              \
  kind template void make_block_householder_triangular_factor(                  \
      Matrix<double, -1, -1, RowMajor>&, const Block<MatrixXd, -1, -1, false>&, \
      const VectorBlock<const VectorXd, -1>&);                                  \
  kind template void apply_block_householder_on_the_left(                       \
      Block<MatrixXd, -1, -1, false>&, const Block<MatrixXd, -1, -1, false>&,   \
      const VectorBlock<const VectorXd, -1>&, bool);                            \
  kind template void tridiagonalization_inplace(MatrixXd&, VectorXd&);

// Decompositions of dynamic matrices and of the sizes that covariances have.
#define IMPACTLAB_EIGEN_DECOMPOSITIONS(kind)                                                   \
  kind template ComputationInfo computeFromTridiagonal_impl(VectorXd&, VectorXd&, const Index, \
                                                            bool, MatrixXd&);
// The members of classes.
#define IMPACTLAB_EIGEN_CLASSES(kind)                                                          \
  kind template class ColPivHouseholderQR<MatrixXd>;                                           \
  kind template class HouseholderQR<MatrixXd>;                                                 \
  kind template class CompleteOrthogonalDecomposition<MatrixXd>;                               \
  kind template class PartialPivLU<MatrixXd>;                                                  \
  kind template class SelfAdjointEigenSolver<MatrixXd>;                                        \
  kind template SelfAdjointEigenSolver<MatrixXd>&                                              \
  SelfAdjointEigenSolver<MatrixXd>::compute<MatrixXd>(const EigenBase<MatrixXd>&, int);        \
  kind template class SelfAdjointEigenSolver<Matrix3d>;                                        \
  kind template SelfAdjointEigenSolver<Matrix3d>&                                              \
  SelfAdjointEigenSolver<Matrix3d>::compute<Matrix3d>(const EigenBase<Matrix3d>&, int);        \
  kind template class LDLT<MatrixXd>;                                                          \
  kind template LDLT<MatrixXd>& LDLT<MatrixXd>::compute<MatrixXd>(const EigenBase<MatrixXd>&); \
  kind template class LDLT<Matrix<double, 6, 6>>;                                              \
  kind template class LDLT<Matrix3d>;                                                          \
  kind template class LLT<MatrixXd>;                                                           \
  kind template LLT<MatrixXd>& LLT<MatrixXd>::compute<MatrixXd>(const EigenBase<MatrixXd>&);   \
  kind template class JacobiSVD<MatrixXd>;                                                     \
  kind template class HouseholderSequence<MatrixXd, VectorXd, 1>;                              \
  kind template void HouseholderSequence<MatrixXd, VectorXd, 1>::evalTo<MatrixXd, VectorXd>(   \
      MatrixXd&, VectorXd&) const;

#ifndef IMPACTLAB_EIGEN_INSTANTIATE
namespace Eigen {
namespace internal {
IMPACTLAB_EIGEN_INSTANCES(extern)
}  // namespace internal
IMPACTLAB_EIGEN_CLASSES(extern)
}  // namespace Eigen
#endif
