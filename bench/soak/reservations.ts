import { type Customer, Refused } from "../service/customer.ts";

const AT_CAP = 429;

/** How many sessions an org gets until it is refused, less its cap: 0 when no reservation is off. */
export async function reservationsOff(customer: Customer, cap: number): Promise<number> {
  const ids: string[] = [];
  try {
    while (ids.length <= cap) ids.push((await customer.create()).sessionId);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== AT_CAP) throw error;
  } finally {
    for (const id of ids) await customer.release(id);
  }
  return ids.length - cap;
}
