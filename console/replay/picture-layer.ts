import { DecodedPictures } from "./decoded-pictures.ts";
import { type Pictures, bytesOf } from "./pictures.ts";

/** The part of rrweb's replayer that a layer of pictures uses. */
interface Replayer {
  getCurrentTime(): number;
  getMirror(): { getNode(id: number): Node | null };
  on(event: "flush", handler: () => void): unknown;
}

/** The picture that an element shows, and how the element looked then: an element that looks otherwise has been changed since. */
interface Drawn {
  url: string;
  look: string;
}

/** Draws the pictures of a track on the elements of the recorded page, from outside: no script runs in there. */
export class PictureLayer {
  readonly #pictures: Pictures;
  readonly #replayer: Replayer;
  readonly #startedAt: number;
  readonly #decoded = new DecodedPictures(imageOf);
  #drawn = new WeakMap<Node, Drawn>();
  #frame = 0;

  constructor(pictures: Pictures, replayer: Replayer, startedAt: number) {
    this.#pictures = pictures;
    this.#replayer = replayer;
    this.#startedAt = startedAt;
    // Attributes are set anew then, which empties a canvas.
    replayer.on("flush", () => {
      this.#drawn = new WeakMap();
    });
    if (!pictures.isEmpty) this.#next();
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#decoded.close();
  }

  /** Pictures are drawn by the frame, not by events: so they are right after any leap, however the player made it. */
  #next(): void {
    this.#frame = requestAnimationFrame(() => {
      this.#next();
      const shown = this.#pictures.at(this.#startedAt + this.#replayer.getCurrentTime());
      this.#decoded.keepOnly(shown);
      for (const [id, url] of shown) {
        const node = this.#replayer.getMirror().getNode(id);
        if (node) this.#show(node, id, url);
      }
    });
  }

  /** Where no script may run, a canvas shows the `content` of its style, and nothing that is drawn on it. */
  #show(node: Node, id: number, url: string): void {
    if (isCanvas(node))
      this.#put(node, id, url, `${node.width} ${node.style.content}`, (image) => {
        const scale = image.width / Math.max(node.width, 1);
        node.style.content = `image-set(url("${repainted(image)}") ${scale}x)`;
        return `${node.width} ${node.style.content}`;
      });
    if (isVideo(node))
      this.#put(node, id, url, node.poster, (image) => (node.poster = repainted(image)));
    if (isEmbed(node))
      this.#put(node, id, url, `${node.type} ${node.style.backgroundImage}`, (image) => {
        // A picture without a source is an empty box, where a plugin would be held back by the policy.
        node.removeAttribute("src");
        node.type = "image/webp";
        node.style.background = `url("${repainted(image)}") 0 0 / 100% 100%`;
        return `${node.type} ${node.style.backgroundImage}`;
      });
  }

  /** `now`: how the element looks, which `draw` answers too. */
  #put(node: Node, id: number, url: string, now: string, draw: (i: ImageBitmap) => string): void {
    const drawn = this.#drawn.get(node);
    if (drawn?.url === url && drawn.look === now) return;
    const decoded = this.#decoded.of(id, url);
    if (!decoded) return;
    this.#drawn.set(node, { url, look: decoded.image ? draw(decoded.image) : now });
  }
}

const isCanvas = (node: Node): node is HTMLCanvasElement => node.nodeName === "CANVAS";
/** The element in which the browser draws a PDF. */
const isEmbed = (node: Node): node is HTMLEmbedElement => node.nodeName === "EMBED";
const isVideo = (node: Node): node is HTMLVideoElement => node.nodeName === "VIDEO";

async function imageOf(url: string): Promise<ImageBitmap | null> {
  const bytes = bytesOf(url);
  if (!bytes) return null;
  return createImageBitmap(new Blob([bytes], { type: "image/webp" })).catch(() => null);
}

/** A picture of this page's own making: nothing of the recorded bytes comes into an attribute. */
function repainted(image: ImageBitmap): string {
  const canvas = document.createElement("canvas");
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext("2d")?.drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp");
}
