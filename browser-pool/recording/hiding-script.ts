/**
 * The recorder of a document while a person, or the service itself, signs in (docs/RECORDING.md): the recorder hides all that is typed,
 * and leaves out the pointer, by which a keypad on the screen could be read. `hidden`, `begin`, `takeNow` and the rest come from the
 * page script. A document where nobody signs in pays a look at a flag for each event.
 *
 * A text that was typed meanwhile stays hidden for as long as its document lasts, also where the page has copied it into other fields by the end.
 */
export const HIDING_SCRIPT = `
  let isHiding = false;
  /** Whether the document was ever told to hide. */
  let hasHidden = false;
  /** Fields and editable elements that have got a text meanwhile. */
  const typed = new WeakSet();
  /** The texts of fields from before. */
  let before = new WeakMap();
  const hides = (field, text) => {
    if (isHiding && field && before.get(field) !== text) typed.add(field);
    return isHiding || typed.has(field);
  };
  /** The outermost editable element that an element is in, or null. */
  const editorOf = (element) => {
    let editor = null;
    for (let at = element; at?.isContentEditable; at = at.parentElement) editor = at;
    return editor;
  };
  const maskText = (text, element) => {
    const editor = editorOf(element);
    if (editor && isHiding) typed.add(editor);
    if (editor && typed.has(editor)) return hidden(text.trim());
    return MASKS_ALL ? text.replace(/\\S/g, "*") : text;
  };
  /** Moves, clicks, touches, drags, and selections, which tell how much was typed. */
  const POINTING = new Set([1, 2, 6, 12, 14]);
  const isInput = ({ type, data }) => type === 3 && POINTING.has(data.source);
  /** Has rrweb begin anew, with a snapshot by what holds now. What it has not told yet is in the snapshot, or is not to be told. */
  const renew = () => {
    if (!stop) return;
    stop();
    stop = null;
    begin();
  };
  const hide = (until) => {
    if (isHiding) return "";
    const isFirst = Date.now() <= until;
    const text = isFirst ? takeNow() : "";
    if (isFirst) for (const field of document.querySelectorAll("input, textarea, select")) before.set(field, field.value);
    else join();
    isHiding = true;
    hasHidden = true;
    // A canvas may go on showing what is typed for as long as its document lasts.
    forgetPictures();
    renew();
    return text;
  };
  const show = () => {
    if (!isHiding) return;
    try {
      // Looks at every field once more.
      if (stop) renew();
      else begin();
    } finally {
      isHiding = false;
      before = new WeakMap();
    }
  };`;

/** Options of rrweb besides, in a document that was told to hide. */
export const HIDING_OPTIONS = `...(hasHidden && { maskTextSelector: "*", maskTextFn: maskText }),`;
