package ahead

// Name is the file of a program.
var Name = name
