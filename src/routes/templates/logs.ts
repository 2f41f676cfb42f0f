import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import type { TemplateLogs } from "@svc/contract/vm/template.ts";
import type { LogPage } from "../../../durable-objects/template.ts";
import type { Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { noTemplate, ownTemplate } from "./boot.ts";

/** A page of the log; with `Accept: text/event-stream` every line until the build is over. */
export const templateLogs: Handler = async (c) => {
  const read = (offset: number, waitMs: number) =>
    reach(() => ownTemplate(c, c.req.param("id") ?? "").logs(offset, waitMs));
  const isStream = /\btext\/event-stream\b/.test(c.req.header("accept") ?? "");
  // A stream that was cut goes on after the last line that arrived.
  const asked = (isStream && c.req.header("last-event-id")) || c.req.query("offset");
  const offset = /^\d{1,15}$/.test(asked ?? "") ? Number(asked) : 0;
  const page = await read(offset, 0);
  if (!page) throw noTemplate();
  return isStream ? follow(page, offset, read) : c.json(page satisfies TemplateLogs);
};

type Read = (offset: number, waitMs: number) => Promise<LogPage | null>;

/**
 * A line is an event with its JSON; its id is the offset after it. `event: end` with the state is the last one. A
 * comment now and then keeps the connection.
 */
function follow(first: LogPage, offset: number, read: Read): Response {
  const encoder = new TextEncoder();
  let page: LogPage | null = first;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // Pulled once for each piece: a reader that is slow holds the next question back.
      const now = page ?? (await read(offset, TEMPLATE_LIMITS.newsMs).catch(() => null));
      page = null;
      if (now && now.entries.length > 0) {
        const from = now.nextOffset - now.entries.length;
        const events = now.entries.map((entry, at) => eventOf(from + at + 1, entry));
        controller.enqueue(encoder.encode(events.join("")));
        offset = now.nextOffset;
      } else if (now?.state === "building") controller.enqueue(encoder.encode(": none yet\n\n"));
      else {
        // Null: the template is deleted, or its object does not answer; a client comes back with the last id.
        const end = now ? `event: end\ndata: ${JSON.stringify({ state: now.state })}\n\n` : "";
        controller.enqueue(encoder.encode(end));
        controller.close();
      }
    },
  });
  const headers = { "content-type": "text/event-stream", "cache-control": "no-store" };
  return new Response(body, { headers });
}

const eventOf = (id: number, entry: object): string =>
  `id: ${id}\ndata: ${JSON.stringify(entry)}\n\n`;
