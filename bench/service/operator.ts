import { HostList, type HostRecord } from "@svc/contract/admin/hosts.ts";
import { KeyCreated, Org } from "@svc/contract/admin/orgs.ts";
import type { PlanOverrides } from "@svc/contract/plans.ts";
import { Customer } from "./customer.ts";

/** A caller of the operator API. */
export class Operator {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor(base: string, token: string) {
    this.#base = base;
    this.#headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  }

  /** A customer of an org of its own. */
  async newCustomer(overrides: PlanOverrides = {}): Promise<Customer> {
    const wanted = { name: "bench", plan: "professional", overrides };
    const { orgId } = Org.parse(await this.#call("POST", "/admin/orgs", wanted));
    const made = await this.#call("POST", `/admin/orgs/${orgId}/keys`, {});
    return new Customer(this.#base, KeyCreated.parse(made).key);
  }

  async hosts(): Promise<HostRecord[]> {
    return HostList.parse(await this.#call("GET", "/admin/hosts")).hosts;
  }

  async #call(method: string, path: string, body?: object): Promise<unknown> {
    const init = { method, headers: this.#headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(new URL(path, this.#base), init);
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}`);
    return response.json();
  }
}
