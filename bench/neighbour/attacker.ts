import { writeFile } from "node:fs/promises";
import { setPriority } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { ATTACKS } from "./attacks.ts";

const Order = z.object({
  attack: z.string(),
  wsEndpoint: z.string(),
  cdpEndpoint: z.string(),
  siteUrl: z.string(),
});
const AGAIN_MS = 20;
const LEAST = 19;

// Attackers have computers of their own: theirs must not take this one's processors from what is measured.
setPriority(LEAST);
// Where processors are shared between sessions first, that counts only within the session that this process leads.
await writeFile("/proc/self/autogroup", String(LEAST)).catch(() => {});
process.on("disconnect", () => process.exit(0));
process.on("message", (message) => void attack(Order.parse(message)));
process.send?.({ type: "ready", url: "http://attacker.invalid" });

/** Attacks again and again, until this process is stopped. */
async function attack({ attack: name, ...grounds }: z.infer<typeof Order>): Promise<void> {
  const attackOnce = ATTACKS[name];
  if (!attackOnce) throw new Error(`there is no attack ${name}`);
  process.send?.("begun");
  for (;;) {
    await attackOnce(grounds).catch(() => {});
    await pause(AGAIN_MS);
  }
}
