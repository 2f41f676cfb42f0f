#!/bin/busybox sh
# The first program in the machine: makes disk, channel and network work, then hands over to the agent.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
# Twice what the agent watches (guest-agent/files/watch-limit.ts); the kernel's own limits grow with memory and are too low.
echo 131072 > /proc/sys/fs/inotify/max_user_watches
echo 1024 > /proc/sys/fs/inotify/max_user_instances
for module in /modules/*.ko; do insmod "$module"; done
tries=0
while [ ! -b /dev/vda ] && [ $tries -lt 400 ]; do usleep 5000; tries=$((tries + 1)); done
mount -t ext4 -o rw,noatime /dev/vda /root || { echo "no root file system"; poweroff -f; }
mount -t tmpfs -o mode=755 run /root/run
mount -t tmpfs -o mode=755,size=64m svc /root/opt/svc
cp -a /agent/. /root/opt/svc/
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up && ip route add default via 10.0.2.2
mount --move /dev /root/dev
mount --move /proc /root/proc
mount --move /sys /root/sys
mkdir -p /root/dev/pts /root/dev/shm
mount -t devpts -o mode=620,ptmxmode=666,gid=5 devpts /root/dev/pts
mount -t tmpfs -o mode=1777 shm /root/dev/shm
mount -t cgroup2 cgroup /root/sys/fs/cgroup
ln -sf /proc/self/fd /root/dev/fd
ln -sf /proc/self/fd/0 /root/dev/stdin
ln -sf /proc/self/fd/1 /root/dev/stdout
ln -sf /proc/self/fd/2 /root/dev/stderr
cp /bin/busybox /root/opt/svc/busybox
ln -s busybox /root/opt/svc/init
exec switch_root /root /opt/svc/init
