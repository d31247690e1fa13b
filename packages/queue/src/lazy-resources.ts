/** Things opened with their first use, shared, and closed together. */
export interface Shelf<Key, Thing> extends AsyncDisposable {
  /** The one of that key; one that could not be opened is tried again the next time. */
  get(key: Key): Promise<Thing>
}

/** An empty shelf that opens things by `open`. */
export function createShelf<Key, Thing extends AsyncDisposable>(
  open: (key: Key) => Promise<Thing>,
): Shelf<Key, Thing> {
  const things = new Map<Key, Promise<Thing>>()
  return {
    get(key) {
      const held = things.get(key)
      if (held !== undefined) return held
      const opening = open(key)
      things.set(key, opening)
      opening.catch(() => things.delete(key))
      return opening
    },
    async [Symbol.asyncDispose]() {
      for (const opened of await Promise.allSettled(things.values())) {
        if (opened.status === 'fulfilled') await opened.value[Symbol.asyncDispose]()
      }
      things.clear()
    },
  }
}
