import { PERSON_LIMITS } from "@svc/contract/browser/person-limits.ts";

type Send = (message: object) => void;

const MOST = PERSON_LIMITS.textCharacters;
const CUT = `Only the first ${MOST.toLocaleString("en")} characters of the text were sent.`;

/**
 * Sends what is pasted, dropped, and written by input methods and the keyboards of phones, which tell of no keys. The field
 * that takes it is always empty.
 */
export function forwardText(
  field: HTMLTextAreaElement,
  send: Send,
  tell: (text: string) => void,
): void {
  let isComposing = false;
  const write = (whole: string): void => {
    const text = firstOf(whole);
    if (text !== "") send({ type: "text", text });
    if (text !== whole) tell(CUT);
  };
  const take = (): void => {
    write(field.value);
    field.value = "";
  };
  field.addEventListener("input", () => {
    if (!isComposing) take();
  });
  field.addEventListener("compositionstart", () => (isComposing = true));
  field.addEventListener("compositionend", () => {
    isComposing = false;
    take();
  });
  // The click may be on what the text is for: the text comes first. Whoever takes the click takes the focus back.
  field.addEventListener("mousedown", () => isComposing && field.blur(), { capture: true });
  field.addEventListener("paste", (event) => {
    event.preventDefault();
    write(event.clipboardData?.getData("text/plain") ?? "");
  });
}

/** As much of a text as one message takes, in whole characters. */
const firstOf = (text: string): string =>
  text.length <= MOST ? text : text.slice(0, MOST).replace(/[\uD800-\uDBFF]$/, "");
