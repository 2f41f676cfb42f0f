import type { Frame } from "./link.ts";

/** The picture of the page: the newest frame that was drawn. */
export class Picture {
  readonly #canvas: HTMLCanvasElement;
  #page: string | null = null;
  #drawn = 0;
  #scale = 1;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  /** The tab that is shown. */
  get page(): string | null {
    return this.#page;
  }

  async draw({ head, jpeg }: Frame): Promise<void> {
    const bitmap = await createImageBitmap(new Blob([jpeg], { type: "image/jpeg" }));
    // Decoding may overtake itself.
    if (head.seq > this.#drawn) {
      this.#drawn = head.seq;
      this.#page = head.page;
      this.#scale = head.scale;
      const canvas = this.#canvas;
      if (canvas.width !== head.w) canvas.width = head.w;
      if (canvas.height !== head.h) canvas.height = head.h;
      canvas.getContext("2d")?.drawImage(bitmap, 0, 0, head.w, head.h);
    }
    bitmap.close();
  }

  /** The pixel of the frame under a point of this window, and the frame's scale. */
  at({ clientX, clientY }: { clientX: number; clientY: number }): {
    x: number;
    y: number;
    scale: number;
  } {
    const { left, top, width, height } = this.#canvas.getBoundingClientRect();
    return {
      x: ((clientX - left) / width) * this.#canvas.width,
      y: ((clientY - top) / height) * this.#canvas.height,
      scale: this.#scale,
    };
  }
}
