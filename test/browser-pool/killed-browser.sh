#!/bin/sh
# A browser that tells its version, says what Chromium says on any machine without a bus, and is killed.
[ "$1" = --version ] && echo "Chromium 1.2.3.4" && exit 0
echo "ERROR:dbus/bus.cc:408] Failed to connect to the bus: Failed to connect to socket" >&2
kill -KILL $$
