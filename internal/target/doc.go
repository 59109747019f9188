// Package target makes the Hessian of a window of the image and answers from it: the window's
// image, its resolution and its uncertainty.
//
// The least-squares problem of a configuration minimises ½ xᵀHx − bᵀx + … with
//
//	H = S AᵀW²A S + λ²,   b = S AᵀW²d
//
// and the image m = S x: S cuts at the topography, λ is solver.damping. Here H and b have rows only for
// the points of a box, the window and a frame around it, as if the image were zero elsewhere (Hu,
// Schuster and Valasek 2001; Valenciano, Biondi and Guitton 2006). H is exact; the one approximation is
// to leave out the surroundings. A frame moves it away from the window.
package target
