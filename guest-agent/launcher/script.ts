/**
 * The resident helper: a small process that forks fast, joins a cgroup before it executes anything, adopts what its
 * children leave behind, holds the system calls that Node has not, and looks whether the agent still answers. Perl,
 * because Debian's perl-base is on every image and has fork, ioctl and syscall. One line is one order; texts are hex, lists joined by commas, `-` is none.
 */
export const HELPER_SCRIPT = String.raw`
use strict; use warnings;
my %nr = $ARGV[0] eq 'arm64'
  ? (setsid => 157, dup3 => 24, prctl => 167, clock_settime => 112, clock_gettime => 113)
  : (setsid => 112, dup3 => 292, prctl => 157, clock_settime => 227, clock_gettime => 228);
syscall($nr{prctl}, 36, 1, 0, 0, 0);
# Whatever else the agent was started with is not for its commands.
for my $fd (map { m{/(\d+)$} ? $1 : () } glob('/proc/self/fd/*')) { if ($fd > 2 && open(my $file, '<&=', $fd)) { close($file) } }
my (%starting, %held, %alive);
pipe(my $rung, my $ring) or die;
$SIG{CHLD} = sub { syswrite($ring, 'x') };
$SIG{PIPE} = 'IGNORE';
$SIG{$_} = 'IGNORE' for qw(INT HUP);

sub say_line { my $line = "@_\n"; while (length $line) { my $n = syswrite(STDOUT, $line); exit unless $n; substr($line, 0, $n) = '' } }
sub text { my ($hex) = @_; return $hex eq '-' ? '' : pack('H*', $hex) }
sub list { my ($hex) = @_; return $hex eq '-' ? () : map { pack('H*', $_) } split(/,/, $hex, -1) }
sub put { my ($path, $value) = @_; open(my $file, '>', $path) or return 0; my $n = syswrite($file, $value); close($file); return defined $n }

# The agent's own handle of a terminal, lent for a moment: pidfd_open and pidfd_getfd, the same numbers everywhere.
sub lent {
  my ($owner, $fd) = @_;
  my $pidfd = syscall(434, $owner + 0, 0);
  return undef if $pidfd < 0;
  open(my $whole, '<&=', $pidfd) or return undef;
  my $number = syscall(438, $pidfd, $fd + 0, 0);
  return undef if $number < 0;
  open(my $handle, '+<&=', $number) or return undef;
  return $handle;
}

sub resize {
  my ($id, $owner, $fd, $cols, $rows) = @_;
  my $terminal = lent($owner, $fd);
  my $size = pack('SSSS', $rows, $cols, 0, 0);
  say_line($terminal && ioctl($terminal, 0x5414, $size) ? ('done', $id) : ('failed', $id, 'resize', $!+0));
}

# The name of the terminal's other side, unlocked and with its size.
sub terminal {
  my ($owner, $fd, $cols, $rows) = split(/,/, $_[0]);
  my $terminal = lent($owner, $fd) or return undef;
  my ($lock, $number, $size) = (pack('i', 0), pack('i', 0), pack('SSSS', $rows, $cols, 0, 0));
  ioctl($terminal, 0x40045431, $lock) && ioctl($terminal, 0x80045430, $number) && ioctl($terminal, 0x5414, $size) or return undef;
  return '/dev/pts/' . unpack('i', $number);
}

sub become {
  my ($report, $group, $in, $out, $err, $wire, $dir, $file, $argv, $env) = @_;
  my $fail = sub { syswrite($report, "$_[0] " . ($!+0)); require POSIX; POSIX::_exit(127) };
  put("$group/cgroup.procs", '0') or $fail->('cgroup') if defined $group;
  put('/proc/self/oom_score_adj', '0');
  syscall($nr{setsid});
  $SIG{$_} = 'DEFAULT' for qw(CHLD PIPE INT HUP);
  chdir($dir) or $fail->('chdir');
  # The first terminal that a session's leader opens is the session's.
  if (!ref $in) { open(my $slave, '+<', $in) or $fail->('terminal'); ($in, $out, $err) = ($slave) x 3 }
  open(STDIN, '<&', $in) && open(STDOUT, '>&', $out) && open(STDERR, '>&', $err) or $fail->('dup');
  syscall($nr{dup3}, fileno $wire, 3, 0) == 3 or $fail->('wire') if $wire;
  %ENV = map { my $at = index($_, '='); (substr($_, 0, $at), substr($_, $at + 1)) } @$env;
  { no warnings; exec { $file } @$argv }
  $fail->('exec');
}

# A child in the cgroup from its birth (clone3): to move one costs a grace period of the kernel. Not where the cgroup
# is full; and no group that a child is born from may ever have seen cgroup.kill, or newer kernels end the child at once.
sub born_into {
  my ($folder) = @_;
  sysopen(my $group, $folder, 0) or return undef;
  my $shape = pack('Q11', 1 << 33, 0, 0, 0, 17, 0, 0, 0, 0, 0, fileno $group);
  my $pid = syscall(435, $shape, length $shape);
  return $pid < 0 ? undef : $pid;
}

sub start {
  my ($id, $group, $dir, $wants, $wantsWire, $file, $argv, $env) = @_;
  my ($in, $to, $from3, $wire);
  my $ok = $wants =~ /,/ ? defined($in = terminal($wants)) : $wants ? pipe($in, $to) : open($in, '<', '/dev/null');
  unless ($ok && (!$wantsWire || pipe($from3, $wire)) && pipe(my $from, my $out) && pipe(my $from2, my $err) && pipe(my $told, my $report)) {
    return say_line('failed', $id, 'pipe', $!+0);
  } else {
    my $folder = $group eq '-' ? undef : text($group);
    my $pid = defined $folder ? born_into($folder) : undef;
    my $isIn = defined $pid;
    $pid = fork() unless $isIn;
    return say_line('failed', $id, 'fork', $!+0) unless defined $pid;
    become($report, $isIn ? undef : $folder, $in, $out, $err, $wire, text($dir), text($file), [list($argv)], [list($env)]) unless $pid;
    $alive{$pid} = 1;
    $held{$pid} = [$to, $from, $from2, $from3];
    $starting{fileno $told} = [$told, $id, $pid];
  }
}

sub started {
  my ($told, $id, $pid) = @{delete $starting{$_[0]}};
  my $word = '';
  sysread($told, $word, 100);
  if ($word ne '') { delete $held{$pid}; delete $alive{$pid}; return say_line('failed', $id, split(/ /, $word)) }
  my ($to, $from, $from2, $from3) = @{$held{$pid}};
  say_line('started', $id, $pid, $to ? fileno $to : -1, fileno $from, fileno $from2, $from3 ? fileno $from3 : -1);
}

sub clock {
  my ($id, $seconds, $nanos) = @_;
  my $when = pack('qq', $seconds, $nanos);
  say_line(syscall($nr{clock_settime}, 0, $when) == 0 ? ('done', $id) : ('failed', $id, 'clock', $!+0));
}

sub entropy {
  my ($id, $seed) = ($_[0], text($_[1]));
  my $ok = open(my $pool, '+<', '/dev/urandom');
  my $add = pack('ii', 8 * length $seed, length $seed) . $seed;
  $ok &&= ioctl($pool, 0x40085203, $add);
  $ok &&= ioctl($pool, 0x5207, 0);
  say_line($ok ? ('done', $id) : ('failed', $id, 'entropy', $!+0));
}

# A machine that was saved has connections with nobody on their other side: who waits in one gets an error at once, no
# end of file. Not those that begin and end in this machine. A socket in which somebody waits cannot be disconnected by
# the kernel; it sends its end, which the network answers with a reset.
sub drop_connections {
  my ($id) = @_;
  my %foreign;
  for my $table ('/proc/net/tcp', '/proc/net/tcp6') {
    open(my $file, '<', $table) or next;
    while (<$file>) {
      my (undef, $local, $remote, $state, @rest) = split;
      next if $state eq 'st' || $state eq '0A' || !$rest[5];
      my ($here, $there) = map { (split /:/)[0] } ($local, $remote);
      $foreign{$rest[5]} = 1 unless $there eq $here || $there =~ /7F$/ || $there =~ /^0{24}01000000$/;
    }
  }
  my %done;
  for my $path (%foreign ? glob('/proc/[0-9]*/fd/*') : ()) {
    my ($inode) = (readlink($path) // '') =~ /^socket:\[(\d+)\]$/ or next;
    next if !$foreign{$inode} || $done{$inode}++;
    my ($owner, $fd) = $path =~ m{/proc/(\d+)/fd/(\d+)};
    my $socket = lent($owner, $fd) or next;
    connect($socket, pack('S x14', 0)) or shutdown($socket, 1);
  }
  say_line('done', $id);
}

my %orders = (
  start => \&start, drop => \&drop_connections, resize => \&resize, clock => \&clock, entropy => \&entropy,
  release => sub { delete $held{$_[0]} },
);

sub reap {
  sysread($rung, my $rings, 4096);
  my @gone;
  while ((my $pid = waitpid(-1, 1)) > 0) { push @gone, [$pid, $?] }
  # A child that could not start has told why; that comes first.
  for my $fd (keys %starting) { my $pid = $starting{$fd}[2]; started($fd) if grep { $_->[0] == $pid } @gone }
  for (@gone) { say_line('exit', @$_) if delete $alive{$_->[0]} }
}

# Looks at the agent every ten seconds. A stopped agent is continued. An agent that waits for events is well: nobody wakes
# it. Any other is asked; one that says nothing three times hangs: it is ended, and the machine's first program starts
# another one. The clock is the one that nobody can set.
my ($agent, $every, $most, $asked, $heard, $missed) = (getppid(), 10, 3, 0, 0, 0);
sub now { my $time = "\0" x 16; syscall($nr{clock_gettime}, 1, $time); return (unpack('qq', $time))[0] }
sub told { open(my $file, '<', "/proc/$agent/$_[0]") or return ''; my $text = <$file> // ''; close($file); return $text }
# The numbers of epoll_wait, epoll_pwait and epoll_pwait2. Where a kernel does not tell, who sleeps is taken to be well.
my $waits = $ARGV[0] eq 'arm64' ? '(?:22|441)' : '(?:232|281|441)';
my $look_at = now() + $every;
sub look {
  $look_at = now() + $every;
  my ($state) = told('stat') =~ /\) (\w) [^)]*$/;
  kill('CONT', $agent) if ($state // '') eq 'T';
  if (($state // '') eq 'S' && told('syscall') =~ /^($waits |$)/) { $asked = $missed = 0; return }
  $missed = $asked && !$heard ? $missed + 1 : 0;
  if ($missed >= $most) { print STDERR "the agent hangs and is ended\n"; kill('KILL', $agent) }
  ($asked, $heard) = (1, 0);
  say_line('alive', '-');
}
$orders{look} = sub { say_line('alive', '-') };
$orders{alive} = sub {};

say_line('ready', $$);
my $buffer = '';
while (1) {
  my $wait = $look_at - now();
  if ($wait <= 0) { look(); next }
  my $want = '';
  vec($want, $_, 1) = 1 for (0, fileno $rung, keys %starting);
  next if select(my $can = $want, undef, undef, $wait) < 0;
  for my $fd (keys %starting) { started($fd) if vec($can, $fd, 1) }
  reap() if vec($can, fileno $rung, 1);
  next unless vec($can, 0, 1);
  # The agent is gone: nobody reads what its commands say.
  unless (sysread(STDIN, $buffer, 65536, length $buffer)) { kill('KILL', -$_) for keys %alive; exit }
  $heard = 1;
  while ($buffer =~ s/^([^\n]*)\n//) {
    my ($order, @words) = split(/ /, $1);
    $orders{$order}->(@words) if $orders{$order};
  }
}
`;
