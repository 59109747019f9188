// Package config reads lsm's configuration: a TOML file of sections and keys,
// environment variables over it, and --set options over those.
//
// There is one table of fields, and it is the struct types of sections.go: each
// key is a struct field whose tags hold its name, default, unit, range or
// choices and help. Parsing, defaults, validation, the text of `lsm help
// config`, the commented template, docs/configuration.md, the names of the
// environment variables and the JSON form are all made from it, so that they
// cannot disagree.
//
// # Tags
//
//	toml     name of the section or key (json repeats it)
//	default  value where nothing is given: TOML, or plain text for texts
//	example  value shown in the template where the default is empty
//	unit     SI unit, or degrees, minutes, GiB
//	range    interval of numbers, "[0,1e6]", "(0,)"; of every value of a list
//	choices  the only texts allowed, with those that other packages register for the
//	         key, whose help stands for {choices} in its own
//	len      allowed lengths of a list, "0,2,3"
//	scalar   "yes": a lone number stands for a list of one
//	required "yes": there is no default
//	live     "yes": uncommented in the template, as required keys are
//	true, false  texts that these values stand for
//	was      "old=now": a value in files of earlier versions, and what it means now
//	traces   "same": shapes modelled traces, so survey files remember it; "once":
//	         changes recorded traces, so a residual remembers it; "converted":
//	         survey files remember whether waves are converted
//	order    of a list's values: "ascending", or "sorted", which allows equal ones
//	with     condition without which the key does not act
//	also     names that other programs use, for suggestions only
//	help     what the key does
//
// # Rules
//
// Which values do not go together is a table as well, rules.go: conditions (see
// condition) and a message. Rules that need more than conditions are in cross.go.
//
// # Problems
//
// Parse reports every problem it finds at once, in the manner of a compiler, so that a user does
// not wait in a batch queue once per missing parameter. A value of the wrong type hides nothing
// else, because the file is decoded into plain values first and each is then held against the
// table. Only an error in the TOML syntax ends the reading of the file.
//
// # Paths
//
// A relative path in the file is relative to the folder of the file. A relative
// path in --set or in the environment is relative to the current folder, as
// typed at a prompt; it is rewritten relative to the file's folder in the
// resolved configuration, so that all of that reads the same way.
package config

//go:generate go test -run TestDocumentIsFresh -update .
