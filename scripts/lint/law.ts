import { relative, sep } from "node:path";
import { judge } from "../../rooms.ts";

interface Node {
  type: string;
  loc?: unknown;
}
interface Literal extends Node {
  value?: unknown;
}
interface Importing extends Node {
  source: Literal | null;
  specifiers?: Node[];
}
interface Context {
  filename: string;
  cwd: string;
  report(problem: { node: Node; message: string }): void;
}

/** Feeds every import of a file to a check: static, re-exported, dynamic and inside a type. */
function everyImport(check: (node: Importing, specifier: string, context: Context) => void) {
  return {
    create(context: Context) {
      const visit = (node: Importing) => {
        const specifier = node.source?.value;
        if (typeof specifier === "string") check(node, specifier, context);
      };
      return {
        ImportDeclaration: visit,
        ExportNamedDeclaration: visit,
        ExportAllDeclaration: visit,
        ImportExpression: visit,
        TSImportType: visit,
      };
    },
  };
}

const fileOf = ({ cwd, filename }: Context): string => relative(cwd, filename).split(sep).join("/");

const rooms = everyImport((node, specifier, context) => {
  const fault = judge(fileOf(context), specifier);
  if (fault) context.report({ node, message: `${fault} (rooms.ts)` });
});

// An import() of a path can close a circle of imports that import/no-cycle does not see. Between rooms there is none: the
// command, which is to start at once, may load a room when it needs it.
const staticPaths = everyImport((node, specifier, context) => {
  if (node.type !== "ImportExpression" || !/^(\.|@svc\/)/.test(specifier)) return;
  if (fileOf(context).startsWith("cli/") && specifier.startsWith("@svc/")) return;
  context.report({ node, message: "import() loads packages only: import a path at the top" });
});

// The named import keeps every locale of zod: the Worker grows from 246 to 834 KiB.
const zodNamespace = everyImport((node, specifier, context) => {
  if (!/^zod(\/|$)/.test(specifier)) return;
  const [only, ...more] = node.type === "ImportDeclaration" ? (node.specifiers ?? []) : [];
  const isNamespace = only?.type === "ImportNamespaceSpecifier" && more.length === 0;
  if (specifier !== "zod" || !isNamespace)
    context.report({ node, message: 'write import * as z from "zod"' });
});

export default {
  meta: { name: "law" },
  rules: { rooms, "static-paths": staticPaths, "zod-namespace": zodNamespace },
};
