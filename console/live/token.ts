/** The token of this page's URL, and the claims that can be read of it. */
export interface Pass {
  token: string;
  /** The name of the session on /ws/live. */
  alias: string;
  handoff: string;
}

/**
 * Reads the token of the URL's fragment and takes it out of the address bar: it is in no history, and on no screen that
 * somebody photographs. A reload finds it in this tab's own storage. Null: there is none.
 */
export function takePass(): Pass | null {
  const handoff = location.pathname.split("/").at(-1) ?? "";
  const told = new URLSearchParams(location.hash.slice(1)).get("t");
  if (told !== null) {
    sessionStorage.setItem(handoff, told);
    history.replaceState(null, "", location.pathname);
  }
  return passOf(handoff, told ?? sessionStorage.getItem(handoff) ?? "");
}

/** The hand-off is over: its token opens nothing any more. */
export function forgetPass({ handoff }: Pass): void {
  sessionStorage.removeItem(handoff);
}

function passOf(handoff: string, token: string): Pass | null {
  try {
    const payload = token.split(".")[1] ?? "";
    const { sub, hid } = JSON.parse(atob(payload.replace(/-/g, "+").replace(/_/g, "/"))) as {
      sub: string;
      hid: string;
    };
    return hid === handoff ? { token, alias: sub, handoff } : null;
  } catch {
    return null;
  }
}
