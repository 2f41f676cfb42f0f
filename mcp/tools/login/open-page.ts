import { Cdp } from "@svc/sdk/cdp.ts";
import type { Browser } from "@svc/sdk/browsers.ts";
import { type ToolContext, ToolError } from "../../tool.ts";

interface Target {
  targetId: string;
  type: string;
}

/** Has the page of a browser go to a URL, for the person who comes. */
export async function openPage(
  { cdpEndpoint }: Browser,
  url: string,
  { signal, WebSocket }: ToolContext,
): Promise<void> {
  const cdp = await Cdp.connect(cdpEndpoint, { signal, WebSocket });
  try {
    const { targetInfos = [] } = (await cdp.send("Target.getTargets", {}, { signal })) as {
      targetInfos?: Target[];
    };
    const [page] = targetInfos.filter(({ type }) => type === "page");
    const session = page ? await cdp.attach(page.targetId, { signal }) : await cdp.newPage();
    const { errorText } = await session.send("Page.navigate", { url }, { signal });
    if (typeof errorText === "string")
      throw new ToolError(
        "NavigationFailed",
        `${url} could not be opened: ${errorText}. Nobody was asked to sign in; try another url.`,
      );
  } finally {
    cdp.close();
  }
}
