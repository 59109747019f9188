// Package butterfly sums the dense part of a 3-D operator below one operation for each trace and
// image point.
//
// # The idea
//
// Neighbouring sources, and neighbouring receivers, see almost the same times at the points x of a
// window of the image. With the time t_c of the centre of a cluster of places and the delays
// δ_r(x) = t_r(x) − t_c(x) of its places r,
//
//	exp(iω δ_r(x)) ≈ Σ_j L_j(x) exp(iω δ_r(x_j))
//
// over the band of the wavelet, with q points x_j of the window, the skeleton, and real weights L_j. The
// adjoint of the traces E_sr of a cluster of sources and one of receivers then becomes
//
//	U_sj(ω) = Σ_r exp(iω δ_r(x_j)) E_sr(ω)         beams of the receivers
//	V_kj(ω) = Σ_s exp(iω δ_s(x_k)) U_sj(ω)         beams of the sources
//	m(x)   += Σ_kj L_k(x) L_j(x) V_kj(t_cs(x) + t_cr(x))
//
// which are products of matrices: a butterfly of one level (Candès, Demanet and Ying 2009, "A fast
// butterfly algorithm for the computation of Fourier integral operators") whose skeletons come from the
// times themselves, so that nothing is assumed of the medium. The forward is the exact transpose.
//
// # The operator
//
// What is approximated is the operator of the band-limited wavelet, as of kirchhoff.Problem.Finer.
// The tolerance is the largest root-mean-square error of what a part brings, as a share of it, for
// data of random phase.
//
//	windows     32³ points, whole boxes of the cpu engine                windows.go
//	clusters    up to 256 places that lie close together                 clusters.go
//	survey      clusters of a whole survey, of which parts have some     survey.go
//	blocks      the traces of two clusters; the larger has the columns   parts.go
//	tapers      what the aperture leaves of a block over a window        taper.go
//	weights     of traces, inside the skeletons of columns               weighed.go
//	rays        of dynamic weights, anti-aliasing and limits             rays.go, gather.go
//	exact       sums of parts over ranks                                 exact.go
//	skeletons   pivoted QR of a sketch of the waves at 8³ points         skeleton.go
//	band        segments of traces, their spectra, splines in time       band.go, turn.go
//	parts       a pair of clusters over a window                         parts.go
//	memory      of applications, one after the other                     memory.go
//	costs       of the stages, by instruction set, and what parts share  cost.go, table.go
//	choice      the sizes of clusters that save most                     choice.go
//
// A skeleton is checked at points that did not make it. Where mostRank points do not keep the
// tolerance there is none: near the surface, at kinks of the times, across sharp velocities. The cpu
// engine sums such parts directly, and those at the edges of the record, and where a
// cluster has too few traces to be worth it (kirchhoff.Elsewhere). 2-D is not for this package.
//
// # The aperture
//
// The weight of a trace at x is w(x − m) along each horizontal axis, m its midpoint. Where it is not 1
// everywhere, the columns s of a block have a skeleton of their own for the window, of the waves of its
// traces with their weights,
//
//	w(x − m_sr) exp(iω δ_s(x)) ≈ Σ_j L_j(x) w(x_j − m_sr) exp(iω δ_s(x_j)),
//
// and the beams are U_rj = Σ_s w(x_j − m_sr) exp(iω δ_s(x_j)) E_sr: a product of matrices whose terms have
// weights of their own (simd.ISA.MultiplyWeighed). A part remains one sum. Its rank grows by the width of
// the taper, not by a factor, where the midpoints of a row are near those of the others; rows that are far
// apart take more points. L_j is given at nodes that are closer along an axis that the taper crosses. The
// error is a share of the weighted waves, so that traces without weight in most of the window hide none.
// Nothing else is assumed of w: it is known at points, for a trace.
//
// # Dynamic weights, anti-aliasing, limits of angles
//
// Dynamic weights take the same way, by the rays of both places at the points x_j. What of p and b lies
// beyond straight rays is known at 4³ nodes of a window. A skeleton of weights that the aperture does not
// taper is made for rays to places all over the survey, so that all blocks share it. Anti-aliasing and
// limits of angles are for the cpu engine, but where one triangle smooths all traces of a block over a
// window, and no limit touches them (kirchhoff.Plan.Alike).
//
// # One side dense
//
// A cluster of one place needs no skeleton: its time at x is t_c(x) and its delay 0. So nodes under a
// carpet of shots cost what the shots' skeleton costs. New tries clusters of one place and of two sizes
// at either end, estimates the ranks of a few of them with straight rays of the least velocity, and
// takes what saves most.
//
// # Use
//
// Costs differ by instruction set, and skeletons are made once for so many applications. Use says both for a
// whole survey. It decides which parts there are, so results depend on it within the tolerance.
//
// # Order
//
// Results depend on the problem alone, not on threads: each window's sums, and each segment's
// spectra, are added in the order of blocks and windows. Nor do they depend on how a survey is cut into
// parts, if all have the clusters of the whole, made for one Use, and the cuts lie between clusters of sources and
// between windows (NewPart). The sums of parts over ranks are then exact (exact.go).
package butterfly
