import { OPERATIONS } from "@svc/contract/operations/index.ts";

/** A test that shows what no black box can provoke, and why it cannot. */
export interface Elsewhere {
  why: string;
  file: string;
  test: string;
}

/** `seen` by a run; `caused`: seen where the host behind the gateway is one that can be made to fail. */
export type Where = "seen" | "caused" | Elsewhere;

/** What a document says that its routes answer: by route and status, or by the code of each error too. */
export type Tables = Record<string, Record<number, Where | Record<string, Where>>>;

export interface Row {
  route: string;
  status: number;
  /** null: the document names none. */
  code: string | null;
  where: Where;
}

const isElsewhere = (where: object): where is Elsewhere => "why" in where;

export function rowsOf(tables: Tables): Row[] {
  return Object.entries(tables).flatMap(([route, table]) =>
    Object.entries(table).flatMap(([number, cell]): Row[] => {
      const status = Number(number);
      if (typeof cell === "string" || isElsewhere(cell))
        return [{ route, status, code: null, where: cell }];
      return Object.entries(cell).map(([code, where]) => ({ route, status, code, where }));
    }),
  );
}

/** What this run was answered. */
export interface Answer {
  route: string;
  status: number;
  /** Of an error that has one. */
  code: string | null;
}
export interface Noted extends Answer {
  text: string;
}

const SOCKETS = ["GET /ws/:id", "GET /cdp/:id", "GET /control/:id", "GET /stream/:id"];
const OPERATION_ROUTES = Object.values(OPERATIONS).map(({ method, path }) => `${method} ${path}`);
const patterns = [...OPERATION_ROUTES, ...SOCKETS].map((route) => ({
  route,
  pattern: new RegExp(`^${route.replaceAll(/:\w+/g, "[^/]+")}$`),
}));

const noted: Noted[] = [];
/** By its name. */
const seen = new Map<string, Answer>();
const nameOf = ({ route, status, code }: Answer): string =>
  code === null ? `${route} ${status}` : `${route} ${status} ${code}`;

/** Notes an answer of the REST API; its body is kept, to be held to what the contract says of it. */
export function noteAnswer(method: string, path: string, status: number, text: string): void {
  noted.push({ ...noteStatus(method, path, status, text), text });
}

/** Notes how a handshake, or a request that is none of HTTP's best, was answered. */
export function noteStatus(method: string, path: string, status: number, text = "") {
  const name = `${method} ${path}`;
  const route = patterns.find(({ pattern }) => pattern.test(name))?.route ?? name;
  const code = status >= 400 ? codeIn(text) : null;
  const answer = { route, status, code };
  seen.set(nameOf(answer), answer);
  return answer;
}

function codeIn(text: string): string | null {
  try {
    const { code } = JSON.parse(text) as { code?: unknown };
    return typeof code === "string" ? code : null;
  } catch {
    return null;
  }
}

export const notedAnswers = (): readonly Noted[] => noted;
export const notedErrors = (): Noted[] => noted.filter(({ status }) => status >= 400);

/** A row that names no code is of every answer with its status. */
const isOf = (row: Row, { route, status, code }: Answer): boolean =>
  row.route === route && row.status === status && (row.code === null || row.code === code);

const wasSeen = (row: Row): boolean => [...seen.values()].some((answer) => isOf(row, answer));

/** What this kind of run can provoke and this one did not. */
export function missingRows(tables: Tables, kinds: readonly Where[] = ["seen"]): string[] {
  return rowsOf(tables)
    .filter((row) => kinds.includes(row.where) && !wasSeen(row))
    .map(nameOf);
}

/** Statuses, or codes where the tables name them, that were seen and that neither the tables nor a decision know. */
export function strangeRows(tables: Tables, decided: (answer: Answer) => boolean): string[] {
  const rows = rowsOf(tables);
  return [...seen.values()]
    .filter(({ route }) => Object.hasOwn(tables, route))
    .filter((answer) => !rows.some((row) => isOf(row, answer)) && !decided(answer))
    .map(nameOf);
}

/** The coverage of a document's tables, for people. */
export function coverageTable(document: string, tables: Tables): string {
  const lines = rowsOf(tables).map((row) => {
    const what = `${row.status} ${row.code ?? ""}`.padEnd(29);
    return `  ${row.route.padEnd(38)} ${what} ${wasSeen(row) ? "seen" : wordOf(row.where)}`;
  });
  const total = lines.filter((line) => line.endsWith(" seen")).length;
  const head = `Tables of ${document}: ${total} of ${lines.length} seen by the black box`;
  return [head, ...lines.map((line) => line.trimEnd())].join("\n");
}

function wordOf(where: Where): string {
  if (typeof where === "string") return "NOT SEEN";
  return `not reachable, ${where.why}: ${where.file}, "${where.test}"`;
}
