/** How long a host may take to stop, by default: less than supervisors allow. */
export const STOP_MS = 8_000;

/**
 * Ends the process once when the supervisor goes (its IPC channel closes) or a signal asks for it.
 * A second signal, or a stop that takes longer than `limitMs`, ends the process at once: its browsers and machines die with it.
 */
export function endWith(stop: (why: string) => Promise<void>, limitMs = STOP_MS): void {
  let isStopping = false;
  const end = (why: string): void => {
    if (isStopping) process.exit(1);
    isStopping = true;
    setTimeout(() => process.exit(1), limitMs).unref();
    void stop(why).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once("disconnect", () => isStopping || end("disconnect"));
  // The supervisor went while this process was starting: no event comes for that.
  if (process.connected === false) end("disconnect");
  process.on("SIGTERM", () => end("SIGTERM"));
  process.on("SIGINT", () => end("SIGINT"));
}
