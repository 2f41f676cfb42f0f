import { readFile } from "node:fs/promises";
import { build, stop } from "esbuild";

/** Packages that are compiled into rrweb-player or bundled with it, and hold their licence. */
const LICENSED = [
  "@xstate/fsm",
  "base64-arraybuffer",
  "fflate",
  "mitt",
  "nanoid",
  "picocolors",
  "postcss",
  "source-map-js",
];

/** Packages that name the MIT License and do not hold it: who has their copyright. */
const MIT = `rrweb-player, @rrweb/replay, @rrweb/packer, rrweb, rrdom, rrweb-snapshot (MIT License)
Copyright (c) 2018 Contributors (https://github.com/rrweb-io/rrweb/graphs/contributors) and SmartX Inc.
svelte (MIT License)
Copyright (c) 2016-24 these people: https://github.com/sveltejs/svelte/graphs/contributors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR
IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

async function licences(): Promise<string> {
  const others = LICENSED.map(async (name) => {
    const text = await readFile(`node_modules/${name}/LICENSE`, "utf8");
    return `${name}\n${text.trim()}`;
  });
  return ["Contains:", MIT, ...(await Promise.all(others))].join("\n\n");
}

/** Bundles the program of the page that plays replays, for browsers. The same sources give the same bytes. */
export async function bundlePlayer(): Promise<string> {
  const result = await build({
    entryPoints: ["console/replay/main.ts"],
    bundle: true,
    format: "esm",
    target: ["chrome120", "firefox121", "safari17"],
    loader: { ".css": "text" },
    minify: true,
    legalComments: "inline",
    banner: { js: `/*! ${await licences()} */` },
    write: false,
    logLevel: "warning",
  });
  await stop();
  const [file] = result.outputFiles;
  if (!file) throw new Error("esbuild wrote nothing");
  return file.text;
}
