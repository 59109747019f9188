package config_test

import _ "github.com/kirchhoff-lsm/lsm/internal/formulation" // whose kinds the documents and the tests name
