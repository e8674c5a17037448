# The reference of the spec language as Markdown, of what the program prints from its tables.
#   usage: sh tests/pages/reference.sh, from the top of the tree
build/tilewright help spec | awk -f tests/pages/reference.awk
