import type { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import { CGROUP, type SharePlace } from "./place.ts";

/** Tasks that a share may have: threads count. */
export const SHARE_TASKS = 1_024;
const MIB = 1024 * 1024;

/**
 * What root may do in a share. Not: mount, load, trace what is not its own, make devices, open by handle, set clocks,
 * configure networks, send raw packets.
 */
const CAPABILITIES = [
  ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "SETFCAP"],
  ["NET_BIND_SERVICE", "SYS_CHROOT", "AUDIT_WRITE"],
]
  .flat()
  .map((name) => `CAP_${name}`);

/** What no namespace parts (the kernel's keys), or what only widens the way to the kernel. */
const REFUSED_CALLS = [
  ["add_key", "keyctl", "request_key", "bpf", "perf_event_open", "userfaultfd"],
  ["io_uring_setup", "io_uring_enter", "io_uring_register"],
].flat();
const EPERM = 1;

/** Of the kernel, nobody's business in a share; and what root could write without any capability. */
const MASKED = [
  ["/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kmsg", "/proc/timer_list", "/proc/acpi"],
  [
    "/proc/scsi",
    "/proc/sched_debug",
    "/proc/latency_stats",
    "/proc/kpagecount",
    "/proc/kpageflags",
  ],
  ["/proc/kpagecgroup", "/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/fs/bpf"],
].flat();
const READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/**
 * The first program of a share. It leaves the root of the share's cgroup, where no process may be while there are groups
 * below; starts the agent again and again, with the two ports it was given as 3 and 4; and takes in orphans.
 */
const FIRST = `group=/sys/fs/cgroup/svc-agent
mkdir -p $group && echo 1 > $group/cgroup.procs
while :; do /usr/local/bin/node /opt/svc/agent.mjs; sleep 1; done`;

const mount = (destination: string, type: string, ...options: string[]) => ({
  destination,
  type,
  source: type,
  options: ["nosuid", ...options],
});

const MOUNTS = [
  mount("/proc", "proc", "noexec", "nodev"),
  mount("/dev", "tmpfs", "strictatime", "mode=755", "size=1m"),
  mount("/dev/pts", "devpts", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
  mount("/dev/shm", "tmpfs", "nodev", "mode=1777"),
  mount("/run", "tmpfs", "nodev", "mode=755"),
  mount("/sys", "sysfs", "noexec", "nodev", "ro"),
  mount("/sys/fs/cgroup", "cgroup", "noexec", "nodev", "rw"),
  { ...mount("/opt/svc", "bind", "bind", "ro", "nodev"), source: "/opt/svc" },
];

/** The share as crun reads it: config.json of the OCI runtime specification. */
export function bundleOf(spec: ShareSpec, place: SharePlace): object {
  return {
    ociVersion: "1.0.2",
    hostname: spec.hostname,
    root: { path: place.root, readonly: false },
    process: processOf(spec),
    mounts: MOUNTS,
    linux: {
      cgroupsPath: `/${CGROUP}/${spec.id}`,
      resources: resourcesOf(spec),
      namespaces: [
        ...["pid", "mount", "ipc", "uts", "cgroup"].map((type) => ({ type })),
        { type: "network", path: place.network },
      ],
      seccomp: {
        defaultAction: "SCMP_ACT_ALLOW",
        syscalls: [{ names: REFUSED_CALLS, action: "SCMP_ACT_ERRNO", errnoRet: EPERM }],
      },
      maskedPaths: MASKED,
      readonlyPaths: READ_ONLY,
      rootfsPropagation: "private",
    },
  };
}

function processOf({ memMb }: ShareSpec): object {
  const [bounding, effective, permitted] = [CAPABILITIES, CAPABILITIES, CAPABILITIES];
  return {
    terminal: false,
    cwd: "/",
    user: { uid: 0, gid: 0 },
    args: ["/bin/sh", "-c", FIRST],
    env: [
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      `SVC_AGENT_SHARE=${JSON.stringify({ memMb, tasks: SHARE_TASKS })}`,
    ],
    // The agent's, as in a machine of its own; it gives its commands zero. Nobody in there can lower it.
    oomScoreAdj: -900,
    capabilities: { bounding, effective, permitted, inheritable: [], ambient: [] },
  };
}

function resourcesOf({ cpu, memMb }: ShareSpec): object {
  return {
    unified: {
      "memory.max": String(memMb * MIB),
      "memory.swap.max": "0",
      "pids.max": String(SHARE_TASKS),
      "cpu.weight": String(100 * cpu),
    },
    devices: [{ allow: false, access: "rwm" }],
  };
}
