#!/bin/sh
# A browser that tells its version and then does not start.
[ "$1" = --version ] && echo "Chromium 1.2.3.4" && exit 0
echo "error while loading shared libraries: libmissing.so" >&2
exit 127
