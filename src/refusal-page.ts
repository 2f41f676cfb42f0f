/** Whether a person with a browser asks, not a program. */
export const isPerson = (request: Request): boolean =>
  /\btext\/html\b/i.test(request.headers.get("accept") ?? "");

/** A refusal for people. `head`: markup of its own. */
export const refusalPage = (title: string, text: string, head = ""): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8">${head}<meta name="viewport" content="width=device-width"><title>${title}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:20vh auto;padding:0 1em}</style></head>
<body><h1>${title}</h1><p>${escaped(text)}</p></body>
</html>
`;

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
