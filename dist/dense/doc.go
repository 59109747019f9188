// Package dense holds dense matrices that are distributed over a grid of ranks in two
// dimensions, their products, Cholesky factors and solutions with many right sides.
//
// Matrices lie in host memory or on cards, one for each rank.
//
// A matrix is cut into tiles, and tile (I, J) lies on the rank in row I mod P and column J mod
// Q of a grid of P × Q ranks. This block-cyclic distribution keeps all ranks busy in a Cholesky
// factorisation, where rows and columns are finished from one end; with one large block a rank,
// those at that end would soon have nothing left to do.
//
// Products go by SUMMA (van de Geijn and Watts 1997, "SUMMA: scalable universal matrix
// multiplication algorithm", Concurrency: Practice and Experience 9, 255–274): for each K, the
// tiles of column K of A are broadcast along the rows of the grid and those of row K of B along
// its columns, and every rank multiplies what it got. A rank receives about n²/√N elements of
// each factor on a square grid of N ranks. On N × 1 ranks the same loop is the product by block
// rows: A and C stay where they are, and all of B, n² elements, comes to every rank.
//
// The cuts do not depend on the grid, every tile is computed by calls of fixed shapes in a fixed
// order, and no sum is shared between ranks. So the elements of every result have the same bits
// on every grid and number of threads.
package dense
