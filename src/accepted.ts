import { isRefusal, refusalError, type Refusal } from "@svc/contract/errors.ts";

/** What an object answered; its refusal is thrown as the error that it names. */
export function accepted<T extends object>(answer: T): Exclude<T, Refusal>;
export function accepted(answer: object): object {
  if (isRefusal(answer)) throw refusalError(answer.refused);
  return answer;
}
