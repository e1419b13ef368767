// What it declares is there already: an assertion of the C library would end the process.
