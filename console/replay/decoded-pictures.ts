/** A picture that can be drawn. `image`: null where its bytes are no picture. */
export interface Decoded<Image> {
  url: string;
  image: Image | null;
}

/** The newest picture of each element that is shown, decoded. A recording may show new elements without end: pictures of others go. */
export class DecodedPictures<Image extends { close(): void }> {
  readonly #decode: (url: string) => Promise<Image | null>;
  readonly #known = new Map<number, Decoded<Image>>();
  readonly #decoding = new Set<number>();
  #isClosed = false;

  constructor(decode: (url: string) => Promise<Image | null>) {
    this.#decode = decode;
  }

  /** The picture of an element; null until it is decoded, which begins now. */
  of(id: number, url: string): Decoded<Image> | null {
    const known = this.#known.get(id);
    if (known?.url === url) return known;
    void this.#add(id, url);
    return null;
  }

  /** Lets go of the pictures of all elements but these. */
  keepOnly(shown: ReadonlyMap<number, string>): void {
    for (const id of this.#known.keys()) if (!shown.has(id)) this.#drop(id);
  }

  close(): void {
    this.#isClosed = true;
    this.keepOnly(new Map());
  }

  /** Pictures of an element are decoded one at a time: at eightfold speed those in between are left out. */
  async #add(id: number, url: string): Promise<void> {
    if (this.#decoding.has(id)) return;
    this.#decoding.add(id);
    const image = await this.#decode(url);
    this.#decoding.delete(id);
    this.#drop(id);
    if (this.#isClosed) image?.close();
    else this.#known.set(id, { url, image });
  }

  #drop(id: number): void {
    this.#known.get(id)?.image?.close();
    this.#known.delete(id);
  }
}
