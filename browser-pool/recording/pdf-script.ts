import { LIMITS } from "@svc/contract/limits.ts";

/** How often a PDF is looked at, for which the pool takes a picture of the screen. */
export const PDF_MS = 2_000;

/** The line by which a document of the PDF viewer asks for a picture of the screen. */
export const ASK = '["svc.screen"]';

/**
 * Pictures of a PDF. The browser draws it in an element from which nobody can read, which is all that a frame of its viewer has: the pool
 * brings a picture of the screen, and the document cuts out its part and tells it as those of a canvas.
 */
export const PDF_SCRIPT = `
  // The viewer's own page has such an element too, in which that document is.
  const isPdf = (element) =>
    nameOf(element) === "embed" && readOf(element, "type") === "application/x-google-chrome-pdf" && location.protocol !== "chrome-extension:";
  const askForScreen = (known) => {
    known.isBusy = true;
    known.kept = new Promise((resolve) => (known.answered = resolve));
    lines.push('${ASK}');
    push();
  };
  /** The answer: a picture of the screen, and where this document begins in it. */
  const screenGiven = async ([data, left, top]) => {
    const [element, known] = [...pictured].find(([each]) => isPdf(each)) ?? [];
    if (!known?.answered) return;
    try {
      if (data) await cut(element, known, data, left, top);
    } catch {
      sheet = null;
    } finally {
      known.isBusy = false;
      known.answered();
    }
  };
  const cut = async (element, known, data, left, top) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
    const box = element.getBoundingClientRect();
    const part = [left + box.left, top + box.top, box.width, box.height].map((each) => each * devicePixelRatio);
    // Nobody may look at it any more.
    if (pictured.get(element) !== known) return;
    const hash = hashOf(drawnOf(image, part, ${LIMITS.replayPdfPixels}));
    image.close();
    const drawn = sheet;
    sheet = null;
    if (hash !== known.hash) await keep(element, known, hash, drawn);
  };`;
