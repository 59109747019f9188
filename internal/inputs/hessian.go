package inputs

import (
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// OpenHessian opens a file of lsm target on all ranks, once rank 0 has compared its Hessian with
// its digest, and finds the digest of the file. Its role in provenance is hessian.
func (r *Ranks) OpenHessian(path config.Path) (*h5.HessianReader, provenance.Input, error) {
	d, err := r.hash("hessian", path)
	if err != nil {
		return nil, d, err
	}
	h, err := verified(r, path.File, h5.OpenHessian)
	if err := r.Together(err); err != nil {
		if h != nil {
			h.Close()
		}
		return nil, d, err
	}
	return h, d, nil
}
