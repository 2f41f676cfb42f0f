import { type Customer, Refused } from "../service/customer.ts";
import type { Operator } from "../service/operator.ts";
import type { Rest } from "./rest.ts";

const MOST_TRIES = 500;
const AT_CAP = 429;

/** What an org with a cap of 1 waits from the ack of its release to its next session, in ms. */
export interface AtCap {
  ms: number[];
  /** Creates that were still refused after the ack. */
  refused: number;
}

export async function measureAtCap(operator: Operator, n: number, rest: Rest): Promise<AtCap> {
  const customer = await operator.newCustomer({ browsers: 1 });
  const found: AtCap = { ms: [], refused: 0 };
  for (let round = 0; round < n; round += 1) {
    await rest.take("none");
    const { sessionId } = await customer.create();
    await rest.take("any");
    await customer.release(sessionId);
    const acked = performance.now();
    const next = await createAtLast(customer);
    found.ms.push(performance.now() - acked);
    found.refused += next.refused;
    await customer.release(next.id);
  }
  return found;
}

async function createAtLast(customer: Customer): Promise<{ id: string; refused: number }> {
  for (let refused = 0; refused < MOST_TRIES; refused += 1) {
    try {
      return { id: (await customer.create()).sessionId, refused };
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== AT_CAP) throw error;
    }
  }
  throw new Error("a released session still counts");
}
