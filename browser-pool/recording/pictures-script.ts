import { LIMITS } from "@svc/contract/limits.ts";
import { PDF_MS, PDF_SCRIPT } from "./pdf-script.ts";

/** How often an element is looked at, once its eager frames (below) are over. */
const LOOK_MS = 1_000;
/** An element that may not be read is another origin's, and rarely becomes the page's own. */
const UNREADABLE_MS = 15_000;
/**
 * Frames in a row in which an element without a first picture is looked at: what WebGL has drawn can be read only in the frame in which
 * it was drawn, which may be the first one and no other.
 */
const EAGER_FRAMES = 90;
/** Time of the main thread that pictures may take: in each second, and at once. */
const MS_A_SECOND = 30;
const MS_AT_ONCE = 90;
/** An element that takes long to read is looked at less often: its rest is so many times its look. */
const RESTS = 40;
/** Length of the pictures that are told: in each second, and at once. */
const CHARACTERS_A_SECOND = 64 * 1024;
const CHARACTERS_AT_ONCE = 512 * 1024;
const QUALITY = 0.6;
const ENCODED_AT_ONCE = 4;

/** The name of a line that has a picture of an element, or says which one it shows still. */
export const PICTURE = "svc.picture";

/**
 * Pictures of what a canvas or a video shows: its own pixels, never what lies over it. `emit`, `rrweb`, `hasHidden` and the means of
 * the still come from the page script, `isPdf` and `askForScreen` from that of PDFs.
 *
 * A page without such an element pays one search of each line: no timer runs, nothing is observed.
 */
export const PICTURES_SCRIPT = `
  const PICTURED = ["canvas", "video", "embed"];
  const PICTURED_MARKS = PICTURED.map((name) => '"tagName":"' + name + '"');
  const listOf = method(Document, "getElementsByTagName");
  const closestOf = method(Element, "closest");
  /** A budget that grows back. */
  const bucket = (perSecond, most, least) => {
    let left = most;
    let at = performance.now();
    return {
      left: () => {
        const now = performance.now();
        left = Math.min(most, left + ((now - at) / 1000) * perSecond);
        at = now;
        return left;
      },
      spend: (amount) => {
        // A look that took long for once, on a busy computer, is not paid for over minutes.
        left = Math.max(left - amount, least);
      },
    };
  };
  const time = bucket(${MS_A_SECOND}, ${MS_AT_ONCE}, -${MS_AT_ONCE});
  const characters = bucket(${CHARACTERS_A_SECOND}, ${CHARACTERS_AT_ONCE}, Number.NEGATIVE_INFINITY);
  /** The state of each element, in the order in which they were looked at last: the next to look at comes first. */
  const pictured = new Map();
  let pictures = 0;
  /** The numbers that elements have in the last still, until rrweb numbers them. */
  let stillIds = new Map();
  const idOf = (element) => (rrweb ? rrweb.mirror.getId(element) : (stillIds.get(element) ?? -1));
  let eyes = null;
  const observer = () =>
    (eyes ??= new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen) {
        const known = pictured.get(target);
        if (known) known.isVisible = isIntersecting;
      }
    }));
  const meet = (element) => {
    if (nameOf(element) === "embed" && !isPdf(element)) return;
    if (hasHidden || pictured.has(element) || pictured.size >= ${LIMITS.replayPicturedElements} || closestOf(element, ".rr-block")) return;
    pictured.set(element, { id: -1, isVisible: true, isBusy: false, nextAt: 0, eager: ${EAGER_FRAMES}, quality: ${QUALITY}, hash: null, name: null, url: null });
    observer().observe(element);
    lookNow();
  };
  const isGone = (element) =>
    !element.isConnected || Boolean(stop && rrweb.mirror.getNode(idOf(element)) !== element);
  const forget = (element) => {
    observer().unobserve(element);
    pictured.delete(element);
  };
  /** Elements that rrweb has numbered, wherever they are: in frames, in shadow roots. */
  let isBehind = false;
  let foundAt = Number.NEGATIVE_INFINITY;
  const findAll = () => {
    isBehind = false;
    foundAt = performance.now();
    for (const element of stillIds.keys()) meet(element);
    for (const id of rrweb?.mirror.getIds() ?? []) {
      const node = rrweb.mirror.getNode(id);
      if (node && typeOf(node) === 1 && PICTURED.includes(nameOf(node))) meet(node);
    }
    for (const [element, known] of pictured) if (known.id !== idOf(element)) tellPicture(element, known);
  };
  /** Says what an element shows, by the number that it has now. */
  const tellPicture = (element, known) => {
    const id = idOf(element);
    if (id < 0 || known.name === null) return;
    known.id = id;
    const payload = { id, picture: known.name, ...(known.url && { data: known.url }) };
    // A picture that was told before is only named.
    if (emit({ type: 5, data: { tag: "${PICTURE}", payload }, timestamp: Date.now() })) known.url = null;
  };
  const takeStill = () => {
    stillIds = new Map();
    lines.push(still());
    if (stillIds.size === 0) return;
    for (const known of pictured.values()) known.id = -1;
    findAll();
  };
  /** Looks for new elements soon after a line of rrweb that has a canvas or a video. */
  const notice = ({ type }, line) => {
    if (type === 5 || !PICTURED_MARKS.some((mark) => line.includes(mark))) return;
    isBehind = true;
    if (type === 2) {
      stillIds = new Map();
      // A snapshot is shown without any picture of before.
      for (const known of pictured.values()) known.id = -1;
      findAll();
    } else if (performance.now() - foundAt > ${LOOK_MS}) lookNow();
    else if (lookTimer === 0) lookIn(${LOOK_MS});
  };
  const meetFirst = () => {
    for (const name of PICTURED) for (const element of listOf(document, name)) meet(element);
  };
  const forgetPictures = () => {
    for (const element of [...pictured.keys()]) forget(element);
    stillIds = new Map();
  };
  const sizeOf = (element) => {
    if (nameOf(element) === "canvas") return [element.width, element.height];
    return element.readyState < 2 ? [0, 0] : [element.videoWidth, element.videoHeight];
  };
  let sheet = null;
  const sheetOf = (width, height) => {
    sheet ??= new OffscreenCanvas(1, 1);
    sheet.width = width;
    sheet.height = height;
    return sheet;
  };
  /** The pixels of an element, made small; null where there are none. Throws where they may not be read. */
  const wordsOf = (element) => {
    const [width, height] = sizeOf(element);
    if (width * height === 0 || width * height > ${LIMITS.replayPicturedPixels}) return null;
    return drawnOf(element, [0, 0, width, height], ${LIMITS.replayPicturePixels});
  };
  const drawnOf = (source, [left, top, width, height], most) => {
    const scale = Math.min(1, Math.sqrt(most / (width * height)));
    const drawn = sheetOf(Math.max(1, Math.floor(width * scale)), Math.max(1, Math.floor(height * scale)));
    const pen = drawn.getContext("2d", { willReadFrequently: true });
    pen.drawImage(source, left, top, width, height, 0, 0, drawn.width, drawn.height);
    return new Uint32Array(pen.getImageData(0, 0, drawn.width, drawn.height).data.buffer);
  };
  const hashOf = (words) => {
    let hash = words.length;
    for (let at = 0; at < words.length; at += 1) hash = Math.imul(hash ^ words[at], 0x01000193) ^ (hash >>> 15);
    return hash;
  };
  /** Whether all is transparent or all black: so a canvas of WebGL looks in a frame in which it was not drawn. */
  const isBlank = (words) => (words[0] === 0 || words[0] === 0xff000000) && words.every((word) => word === words[0]);
  /** Only for a canvas that has been drawn on: on another one, "getContext" would make the context that the page has not made. */
  const isPlainCanvas = (element) => {
    try {
      return element.getContext("2d") !== null;
    } catch {
      return false;
    }
  };
  const asUrl = (blob) =>
    new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.onerror = reject;
      reader.readAsDataURL(blob);
    });
  let encoding = 0;
  const keep = async (element, known, hash, drawn) => {
    known.isBusy = true;
    encoding += 1;
    known.hash = hash;
    try {
      const url = await asUrl(await drawn.convertToBlob({ type: "image/webp", quality: known.quality }));
      characters.spend(url.length);
      if (url.length > ${LIMITS.replayPictureCharacters}) {
        known.quality /= 2;
        // The picture is taken again, though the element may never change.
        known.hash = null;
        return;
      }
      if (!url.startsWith("data:image/webp;")) return;
      pictures += 1;
      known.name = Math.floor(performance.timeOrigin) + "." + pictures;
      known.url = url;
      tellPicture(element, known);
    } catch {
    } finally {
      known.isBusy = false;
      encoding -= 1;
    }
  };
  /** How long an element need not be looked at; 0: it is looked at in the next frame. */
  const look = (element, known) => {
    try {
      if (isPdf(element)) {
        askForScreen(known);
        return ${PDF_MS};
      }
      const words = wordsOf(element);
      if (!words) return ${LOOK_MS};
      if (nameOf(element) === "canvas" && isBlank(words)) {
        if (known.hash === null) return known.eager-- > 0 ? 0 : ${LOOK_MS};
        if (!isPlainCanvas(element)) return ${LOOK_MS};
      }
      const hash = hashOf(words);
      if (hash !== known.hash) {
        known.kept = keep(element, known, hash, sheet);
        sheet = null;
      }
      return ${LOOK_MS};
    } catch {
      // The sheet is tainted too: nothing more can be read from it.
      sheet = null;
      return ${UNREADABLE_MS};
    }
  };
  const lookAtAll = () => {
    lookTimer = 0;
    if (isBehind) findAll();
    const now = performance.now();
    let isEager = false;
    for (const [element, known] of [...pictured]) {
      if (isGone(element)) {
        forget(element);
        continue;
      }
      if (!known.isVisible || known.isBusy || now < known.nextAt) continue;
      // The length of a picture is known only once it is packed.
      if (time.left() <= 0 || characters.left() <= 0 || encoding >= ${ENCODED_AT_ONCE}) break;
      pictured.delete(element);
      pictured.set(element, known);
      const began = performance.now();
      const rest = look(element, known);
      const took = performance.now() - began;
      time.spend(took);
      isEager ||= rest === 0;
      // A timer that comes a little early would leave out a turn.
      known.nextAt = rest && now + Math.max(rest - 100, Math.min(took * ${RESTS}, ${UNREADABLE_MS}));
    }
    if (pictured.size > 0) lookIn(isEager && time.left() > 0 ? 0 : ${LOOK_MS});
  };
  let lookTimer = 0;
  const lookIn = (ms) => {
    clearTimeout(lookTimer);
    lookTimer = setTimeout(lookNow, ms);
  };
  /** A page that nobody sees has no frames. */
  let isAwaiting = false;
  /** Runs after what the page draws in that frame, whose callbacks were asked for before. */
  const lookNow = () => {
    if (!isAwaiting) requestAnimationFrame(lookAtFrame);
    isAwaiting = true;
  };
  const lookAtFrame = () => {
    isAwaiting = false;
    clearTimeout(lookTimer);
    lookAtAll();
  };
  /** The last look at elements that have changed, before the document is gone. */
  const lookLast = async (ms) => {
    const until = performance.now() + ${MS_AT_ONCE};
    for (const [element, known] of pictured)
      if (known.isVisible && !known.isBusy && performance.now() < until && characters.left() > 0) look(element, known);
    const kept = Promise.all([...pictured.values()].map(({ kept }) => kept));
    await Promise.race([kept, new Promise((resolve) => setTimeout(resolve, ms))]);
  };
  ${PDF_SCRIPT}`;
