/** The cgroup under which every share has its own. */
export const CGROUP = "svc-shares";
const GROUPS = "/sys/fs/cgroup";
/** Where shares have what is theirs in the machine. */
export const RUN = "/run/svc/shares";

/** Where the parts of a share are, seen from its machine. */
export interface SharePlace {
  folder: string;
  /** Its own file system, with the upper folder of its root. */
  disk: string;
  root: string;
  network: string;
  cgroup: string;
}

export function placeOf(id: string): SharePlace {
  const folder = `${RUN}/${id}`;
  return {
    folder,
    disk: `${folder}/disk`,
    root: `${folder}/root`,
    network: `/run/netns/${id}`,
    cgroup: `${GROUPS}/${CGROUP}/${id}`,
  };
}

/**
 * Once for a machine. No user namespaces: in one, everybody has every capability towards much of the kernel. Whoever
 * sees a cgroup as its root cannot change that one's limits (nsdelegate). Shares hang on a bridge without an address of
 * its own: they reach the way out and nobody else, neither each other nor this machine. What an agent before this one
 * had is ended.
 */
export const PREPARE = `set -e
mount -o remount,nsdelegate ${GROUPS}
echo 0 > /proc/sys/user/max_user_namespaces
modprobe -a overlay loop bridge veth
mkdir -p ${RUN} /run/svc/mask /svc ${GROUPS}/${CGROUP}
[ -c /run/svc/mask/svc ] || mknod /run/svc/mask/svc c 0 0
echo 1 > ${GROUPS}/${CGROUP}/cgroup.kill
echo "+memory +pids +cpu" > ${GROUPS}/${CGROUP}/cgroup.subtree_control
[ -e /sys/class/net/br0 ] || ip -batch - <<X
link add br0 type bridge
link set br0 addrgenmode none
addr flush dev eth0
link set eth0 addrgenmode none
link set eth0 master br0
link set br0 up
X`;

/**
 * $1 the share, $2 the last byte of its address, $3 GiB of its disk. Its root is the machine's own, seen through a layer
 * in which /svc is not, where the disks of all shares are; what it writes goes on its own disk.
 */
export const BUILD = `set -e
at=${RUN}/$1
mkdir -p $at/disk $at/root
{
  truncate -s $3G /svc/$1.img
  mke2fs -q -F -t ext4 -O ^has_journal,^resize_inode -E lazy_itable_init=1,nodiscard -m 0 /svc/$1.img
  mount -o loop,noatime,nodev /svc/$1.img $at/disk
  mkdir $at/disk/upper $at/disk/work
  mount -t overlay -o nodev,lowerdir=/run/svc/mask:/,upperdir=$at/disk/upper,workdir=$at/disk/work overlay $at/root
} &
disk=$!
ip netns add $1
ip -batch - <<X
link add v$1 type veth peer name eth0 netns $1
link set v$1 addrgenmode none
link set v$1 master br0
link set v$1 type bridge_slave isolated on
link set v$1 up
X
ip -n $1 -batch - <<X
link set lo up
addr add 10.0.2.$2/24 dev eth0
link set eth0 up
route add default via 10.0.2.2
X
wait $disk`;

/** $1 the share. Each step is tried: what was never made is not there. */
export const CLEAR = `at=${RUN}/$1
crun delete -f $1 2>/dev/null
umount -l $at/root
umount $at/disk || umount -l $at/disk
ip netns del $1
rm -rf /svc/$1.img $at
find ${GROUPS}/${CGROUP}/$1 -depth -type d -exec rmdir {} ';'
true`;

/** What an agent before this one left. */
export const CLEAR_ALL = `for at in ${RUN}/*; do
  [ -d $at ] || continue
  set -- $(basename $at)
  ${CLEAR}
done`;
