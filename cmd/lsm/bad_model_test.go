package main

import "math"

const modelFile = "model.h5"

func badModels() []bad {
	velocity := func(edits ...edit) []edit { return edits }
	of := func(name, says string, edits []edit) bad {
		return bad{name, with(modelFile, soundModel, edits...), readers + "; traveltime config.toml", inputFault, `^lsm: model\.h5: ` + says}
	}
	beside := func(name string, value float64) edit { // a dataset on the velocity's grid
		return func(h hdf) { h.sets[name] = dataset{[]int{nx, nz}, filled(nx*nz, value), onGrid()} }
	}
	return []bad{
		{"model missing", remove(modelFile), "", inputFault, `^lsm: model\.h5: no such file\n$`},
		{"model is a folder", folder(modelFile), "", inputFault, `model\.h5: is a folder`},
		{"model is text", text(modelFile, "2000 2000\n"), "", inputFault, `model\.h5: is not an HDF5 file but a text file`},
		{"model is empty", text(modelFile, ""), "", inputFault, `model\.h5: is empty`},
		{"model cut short", cut(modelFile, -100), "", inputFault, `model\.h5: is cut short`},
		{"image given as model", nil, "run config.toml --set velocity.file=reflectivity.h5", inputFault, `reflectivity\.h5: @format: is "lsm-image", want "lsm-model"`},
		of("no velocity", `/velocity: is missing`, velocity(drop("/velocity"))),
		of("velocity is text", `/velocity: holds elements of type string`, velocity(set("/velocity", "fast"))),
		of("velocity of rank 1", `/velocity: has shape \[30\], want \[nx, nz\] or \[nx, ny, nz\]`, velocity(set("/velocity", filled(30, 2000), 30))),
		of("velocity in 3-D for a survey in 2-D", `velocity has 3 axes, the survey's positions have 2 columns`,
			velocity(set("/velocity", filled(30, 2000), 2, 3, 5), attr("/velocity", "origin", filled(3, 0)), attr("/velocity", "spacing", filled(3, 10)))),
		of("velocity zero", `/velocity: is 0 m/s at point \[1, 2\] at \(10, 20\) m, must be positive and finite`, velocity(poke("/velocity", nz+2, 0))),
		of("velocity negative", `/velocity: is -1500 m/s at point \[0, 0\]`, velocity(poke("/velocity", 0, -1500))),
		of("velocity NaN", `/velocity: is NaN m/s at point \[5, 4\]`, velocity(poke("/velocity", nx*nz-1, math.NaN()))),
		of("velocity infinite", `/velocity: is \+Inf m/s`, velocity(poke("/velocity", 3, math.Inf(1)))),
		of("no origin", `/velocity@origin: attribute is missing`, velocity(attr("/velocity", "origin", nil))),
		of("no spacing", `/velocity@spacing: attribute is missing`, velocity(attr("/velocity", "spacing", nil))),
		of("origin of 3 values", `/velocity@origin: attribute has 3 values, want 2 numbers \(x z\)`, velocity(attr("/velocity", "origin", filled(3, 0)))),
		of("origin NaN", `/velocity: grid: origin along z is NaN m, must be finite`, velocity(attr("/velocity", "origin", []float64{0, math.NaN()}))),
		of("spacing zero", `/velocity: grid: spacing along x is 0 m, must be positive`, velocity(attr("/velocity", "spacing", []float64{0, 10}))),
		of("spacing negative", `/velocity: grid: spacing along z is -10 m, must be positive`, velocity(attr("/velocity", "spacing", []float64{10, -10}))),
		of("spacing is text", `/velocity@spacing: attribute is text, want 2 numbers`, velocity(attr("/velocity", "spacing", "10 m"))),
		of("epsilon of another shape", `/epsilon: has shape \[30\], want \[6, 5\], that of /velocity`, velocity(set("/epsilon", filled(30, 0.1), 30))),
		of("epsilon impossible", `/epsilon: is -0\.5 at point \[1, 2\] at \(10, 20\) m, must be above -0\.5`, velocity(beside("/epsilon", 0.1), poke("/epsilon", nz+2, -0.5))),
		of("delta per cent", `/delta: is 12 at point \[0, 0\] .* at most 5, a fraction`, velocity(beside("/delta", 12))),
		of("delta elsewhere", `/delta@origin: is \(0, 5\), want \(0, 0\), that of /velocity`, velocity(beside("/delta", 0), attr("/delta", "origin", []float64{0, 5}))),
		of("tilt NaN", `/tilt: is NaN degrees at point`, velocity(beside("/tilt", math.NaN()))),
		of("tilt in radians", `/tilt@units: is "radians", want "degrees"`, velocity(beside("/tilt", 1), attr("/tilt", "units", "radians"))),
		of("azimuth in 2-D", `/azimuth: is 30 degrees at point .* must be 0 in a 2-D model`, velocity(beside("/azimuth", 30))),
		{"receiver model missing", nil, "run config.toml --set velocity.receiver_file=s.h5; check config.toml --set velocity.receiver_file=s.h5", inputFault, `^lsm: s\.h5: no such file\n$`},
		{"image given as receiver model", nil, "run config.toml --set velocity.receiver_file=reflectivity.h5", inputFault, `reflectivity\.h5: @format: is "lsm-image", want "lsm-model"`},
		{"receiver model too small", with("s.h5", soundModel, set("/velocity", filled(9, 900), 3, 3)), "run config.toml --set velocity.receiver_file=s.h5; check config.toml --set velocity.receiver_file=s.h5", usageFault, `image: .* reaches outside the velocity model, x \[0, 20\]`},
		{"receiver velocity in km/s", nil, "run config.toml --set velocity.receiver_constant=0.9", usageFault, `velocity\.receiver_constant=0\.9: 0\.9 m/s looks like slowness in s/km`},
	}
}

func badTables() []bad {
	const given = " --set traveltime.method=table --set traveltime.file=times.h5"
	const args = "run config.toml" + given + "; migrate config.toml" + given
	of := func(name, says string, edits ...edit) bad {
		return bad{name, with("times.h5", soundTables, edits...), args, inputFault, `times\.h5: ` + says}
	}
	coarse := map[string]any{"origin": []float64{0, 0}, "spacing": []float64{20, 20}}
	onCoarse := func(h hdf) {
		for name, d := range h.sets {
			h.sets[name] = dataset{d.shape, d.data, coarse}
		}
	}
	return []bad{
		{"tables missing", remove("times.h5"), args, inputFault, `^lsm: times\.h5: no such file`},
		{"tables are text", text("times.h5", "0.1 0.2"), args, inputFault, `times\.h5: is not an HDF5 file`},
		{"tables cut short", cut("times.h5", -1), args, inputFault, `times\.h5: is cut short`},
		{"tables not named", nil, "run config.toml --set traveltime.method=table", usageFault, `traveltime\.file: missing, traveltime\.method = "table" needs the path`},
		{"image given as tables", nil, "migrate config.toml --set traveltime.method=table --set traveltime.file=reflectivity.h5", inputFault, `reflectivity\.h5: @format: is "lsm-image", want "lsm-tables"`},
		of("no receiver times", `/receiver_time: is missing`, drop("/receiver_time")),
		of("no source times", `/source_time: is missing`, drop("/source_time")),
		of("tables on another grid", `tables are on x \[0, 100\] × z \[0, 80\] m .*, the image on x \[0, 50\] × z \[0, 40\] m`, onCoarse),
		of("tables of two grids", `/receiver_time: lies on a grid of .*20×20 m.*, /source_time on one of`, func(h hdf) {
			h.sets["/receiver_time"] = dataset{h.sets["/receiver_time"].shape, h.sets["/receiver_time"].data, coarse}
		}),
		of("a source row too many", `tables for 3 sources and 3 receivers, the survey has 2 and 3`, set("/source_time", filled(3*nx*nz, 0.02), 3, nx, nz)),
		of("a receiver row too few", `tables for 2 sources and 2 receivers, the survey has 2 and 3`, set("/receiver_time", filled(2*nx*nz, 0.02), 2, nx, nz)),
		of("times of rank 2", `/source_time: has shape \[2, 30\], want \[n, nx, nz\]`, set("/source_time", filled(2*nx*nz, 0.02), 2, nx*nz)),
		of("time NaN", `/source_time: row 1 is NaN at point \[0, 3\] at \(0, 30\) m, must be finite and not negative`, poke("/source_time", nx*nz+3, math.NaN())),
		of("time negative", `/receiver_time: row 2 is -0\.01 at point \[0, 0\]`, poke("/receiver_time", 2*nx*nz, -0.01)),
		of("time infinite", `/source_time: row 0 is \+Inf at point`, poke("/source_time", 0, math.Inf(1))),
	}
}

// badImages spoil the reflectivity of lsm model and the start model of lsm run.
func badImages() []bad {
	const args = "model config.toml --reflectivity reflectivity.h5; run config.toml --set solver.start=reflectivity.h5 --set output.adjoint=adjoint.h5"
	of := func(name, says string, edits ...edit) bad {
		return bad{name, with("reflectivity.h5", soundImage, edits...), args, inputFault, `^lsm: reflectivity\.h5: ` + says}
	}
	return []bad{
		{"image missing", remove("reflectivity.h5"), args, inputFault, `^lsm: reflectivity\.h5: no such file`},
		{"image cut short", cut("reflectivity.h5", -1), args, inputFault, `reflectivity\.h5: is cut short`},
		{"survey given as image", nil, "model config.toml --reflectivity survey.h5; run config.toml --set solver.start=times.h5", inputFault, `(survey|times)\.h5: @format: is "lsm-(survey|tables)", want "lsm-image"`},
		of("no image", `/image: is missing`, drop("/image")),
		of("image NaN", `/image: is NaN at point \[1, 1\] at \(10, 10\) m, must be finite`, poke("/image", nz+1, math.NaN())),
		of("image without spacing", `/image@spacing: attribute is missing`, attr("/image", "spacing", nil)),
		of("image shifted", `the image is on x \[5, 55\] × z \[0, 40\] m .*, this run's grid is x \[0, 50\] × z \[0, 40\] m`, attr("/image", "origin", []float64{5, 0})),
		of("image of another shape", `the image is on x \[0, 40\] × z \[0, 50\] m`, set("/image", ramp(nx*nz), nz, nx)),
		of("image in 3-D", `the image is on x \[0, 20\] × y \[0, 10\] × z \[0, 40\] m`,
			set("/image", ramp(nx*nz), 3, 2, nz), attr("/image", "origin", filled(3, 0)), attr("/image", "spacing", filled(3, 10))),
	}
}
