package job

import (
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// operatorPrefix is the beginning of the names of a survey's root attributes that say
// what its traces were made with; a configuration key follows.
const operatorPrefix = "operator."

// operatorAttrs tell the settings that shape the traces which this job writes.
func (j *Job) operatorAttrs() []h5.Attr {
	var list []h5.Attr
	for _, s := range j.Config.Modelled(j.white != nil) {
		list = append(list, h5.Attr{Name: operatorPrefix + s.Key, Value: s.Value})
	}
	return list
}

// madeWith reads what operatorAttrs wrote. A survey from elsewhere tells nothing.
func madeWith(r *h5.SurveyReader) (list []config.Setting, err error) {
	a := r.Attrs()
	for _, key := range config.ModelledKeys() {
		name := operatorPrefix + key
		if !a.Has(name) {
			continue
		}
		value, err := a.Text(name)
		if err != nil {
			return nil, err
		}
		list = append(list, config.Setting{Key: key, Value: value})
	}
	return list, nil
}

// Doubts are what is allowed and yet probably not meant, for a warning before anything is
// computed: each ends in another image than the one that was wanted.
func (j *Job) Doubts() []Finding {
	var list []Finding
	for _, d := range j.Config.Differences(j.made) {
		list = append(list, Finding{"operator", "warning", d.String()})
	}
	return list
}

// WarnOfDoubts prints them.
func (j *Job) WarnOfDoubts() {
	for _, d := range j.Doubts() {
		j.report.Warn(d.Text)
	}
}
