/** A page of a list. */
export interface Page<Item> {
  items: Item[];
  /** Present when another page exists. */
  nextCursor?: string | undefined;
}

/** A list: `for await` walks all of it, `page()` reads one page. Nothing is asked before. */
export class Pages<Item> implements AsyncIterable<Item> {
  readonly #read: (cursor: string | undefined) => Promise<Page<Item>>;

  constructor(read: (cursor: string | undefined) => Promise<Page<Item>>) {
    this.#read = read;
  }

  /** Reads one page: the first, or the one of a former page's `nextCursor`. */
  page(cursor?: string): Promise<Page<Item>> {
    return this.#read(cursor);
  }

  /** Walks all items, page by page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    let cursor: string | undefined;
    for (;;) {
      const { items, nextCursor } = await this.#read(cursor);
      yield* items;
      if (nextCursor === undefined || nextCursor === cursor) return;
      cursor = nextCursor;
    }
  }
}
