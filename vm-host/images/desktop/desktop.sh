#!/bin/sh
# The desktop of a machine: a screen that speaks RFB, and what is always on it. The first program starts it again when it ends.
export DISPLAY=:1 HOME=/root LANG=C.UTF-8 SHELL=/bin/bash
export DBUS_SESSION_BUS_ADDRESS=unix:path=/run/svc/bus PULSE_SERVER=unix:/run/svc/pulse
export XDG_RUNTIME_DIR=/run/svc XDG_CURRENT_DESKTOP=openbox
mkdir -p -m 700 /run/svc
rm -f /tmp/.X1-lock /tmp/.X11-unix/X1 /run/svc/bus /run/svc/pulse
cd /root || exit

# The size that the machine was told last, for a screen that is started again.
geometry=$(cat /run/svc/resolution 2>/dev/null || echo 1280x720)
# Only the machine itself reaches the port, and everybody in it is root. A paste has as many bytes as a message to the host
# may have. Without its last window the screen goes on: it would begin anew.
Xtigervnc :1 -geometry "$geometry" -depth 24 -rfbport 5901 -localhost -SecurityTypes None \
  -AlwaysShared -ac -nolisten tcp -s 0 -dpms -noreset -MaxCutText 1048576 -desktop desktop >/run/svc/screen.log 2>&1 &
screen=$!
trap 'kill $screen' EXIT
until xset q >/dev/null 2>&1; do
  kill -0 $screen || exit
  sleep 0.1
done

xsetroot -solid '#2b3a4f' -cursor_name left_ptr
dbus-daemon --session --address="$DBUS_SESSION_BUS_ADDRESS" --fork --nopidfile
# A sound card that nobody hears: programs that play something do not wait for one.
pulseaudio -n --daemonize --exit-idle-time=-1 --log-target=null -L module-null-sink \
  -L "module-native-protocol-unix socket=/run/svc/pulse auth-anonymous=1" -L module-suspend-on-idle

keep() {
  while kill -0 $screen 2>/dev/null; do
    "$@" >/dev/null 2>&1
    sleep 1
  done
}
keep openbox &
keep tint2 &
wait $screen
