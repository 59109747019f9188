package cli

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
)

// CheckUnits refuses what --units cannot be.
func CheckUnits(command, unit string) error {
	if unit == "auto" || velocity.Unit(unit) == unit {
		return nil
	}
	return status.Usage(fmt.Errorf("%s: units %q are not one of auto, m/s, km/s, ft/s", command, unit))
}

// WithUnitsFlag names the flag where the hint would name the configuration's key.
func WithUnitsFlag(err error) error {
	if status.HintOf(err) == config.UnitsHint {
		return status.Hint(err, `--units km/s or ft/s converts, --units m/s takes them as they stand`)
	}
	return err
}

// WarnOfEta says what becomes of a model's η where vertical velocities are made of moveout ones.
func WarnOfEta(a *App, path string, m *velocity.Model) {
	if m.Eta != nil {
		a.Report.Warn(path + ": /eta gives no vertical velocities: those of moveout are used")
	}
}
