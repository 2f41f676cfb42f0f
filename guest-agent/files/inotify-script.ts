/**
 * The program that holds the kernel's watches. Node reads inotify itself, but hands on neither the cookie that joins the two
 * halves of a move nor what has happened to a name. Perl, because Debian's perl-base is on every image and has syscall.
 *
 * It reads lines: `add <number> <mask> <path in hex>`, `end <watch>`, `sync <number>`. It writes messages: three u32be, which are
 * the number of the order, its result and the length of what follows. Results are a watch, or an errno below zero. Number 0
 * has events behind it, as the kernel wrote them. What the kernel held when `sync` was read comes before its answer.
 */
export const INOTIFY_SCRIPT = String.raw`
use strict; use warnings;
$0 = 'svc-watch';
my ($init, $add, $end) = $ARGV[0] eq 'arm64' ? (26, 27, 28) : (294, 254, 255);
$SIG{$_} = 'IGNORE' for qw(INT HUP PIPE);
# IN_NONBLOCK, IN_CLOEXEC
my $fd = syscall($init, 0x80800);
my $broken = $fd < 0 ? -($! + 0) : 0;
my $events;
open($events, '<&=', $fd) or die "inotify: $!" unless $broken;

sub tell_agent {
  my ($number, $result, $bytes) = @_;
  my $message = pack('NNN', $number, $result & 0xffffffff, length $bytes) . $bytes;
  while (length $message) { my $n = syswrite(STDOUT, $message); exit unless $n; substr($message, 0, $n) = '' }
}
sub relay { my $n = sysread($events, my $bytes, 65536); tell_agent(0, 0, $bytes) if $n; return $n }

my %orders = (
  add => sub {
    my ($number, $mask, $path) = ($_[0], $_[1] + 0, pack('H*', $_[2]));
    return tell_agent($number, $broken, '') if $broken;
    my $watch = syscall($add, $fd, $path, $mask);
    tell_agent($number, $watch < 0 ? -($! + 0) : $watch, '');
  },
  end => sub { syscall($end, $fd, $_[0] + 0) unless $broken },
  # A queue is 16,384 events long unless somebody has changed that; a storm must not keep the answer away.
  sync => sub { for (1 .. 100) { last if $broken || !relay() } tell_agent($_[0], 0, '') },
);

my $buffer = '';
while (1) {
  my $want = '';
  vec($want, 0, 1) = 1;
  vec($want, $fd, 1) = 1 unless $broken;
  next if select(my $can = $want, undef, undef, undef) < 0;
  relay() if !$broken && vec($can, $fd, 1);
  next unless vec($can, 0, 1);
  exit unless sysread(STDIN, $buffer, 65536, length $buffer);
  while ($buffer =~ s/^([^\n]*)\n//) {
    my ($order, @words) = split(/ /, $1);
    $orders{$order}->(@words) if $orders{$order};
  }
}
`;
