const EVERY_MS = 5_000;

type Token = string | number | undefined;
type Notify = (notification: {
  method: "notifications/progress";
  params: { progressToken: string | number; progress: number; message?: string };
}) => Promise<void>;

/** Tells a client that asked for it every 5 s that a call goes on, and what it does. */
export class Progress {
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  #seconds = 0;
  #message = "";

  constructor(progressToken: Token, notify: Notify) {
    if (progressToken === undefined) return;
    this.#timer = setInterval(() => {
      this.#seconds += EVERY_MS / 1000;
      const said = this.#message && { message: this.#message };
      const params = { progressToken, progress: this.#seconds, ...said };
      // A client that is gone is seen by the call's signal.
      notify({ method: "notifications/progress", params }).catch(() => {});
    }, EVERY_MS);
  }

  /** Sets the message of the next notifications. */
  say(message: string): void {
    this.#message = message;
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
